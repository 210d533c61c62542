# paravane_precompile(target [UNDRIVEN]): reads the headers that most of our sources read from
# one file, which is compiled once per build tree, and once more for what no fuzzer drives,
# which has other options.
#
# Only where the preset asks for it. The presets gcc and coverage compile each source alone and
# without it, and find one that forgets to include what it uses.

option(PARAVANE_PRECOMPILE "Compile the headers that most sources read once (clang)" OFF)

function(paravane_precompiled_headers target)
  add_library(${target} OBJECT ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/precompiled.cc)
  target_link_libraries(${target} PRIVATE paravane_warnings ${ARGN} Threads::Threads)
  # Or ccache would take it for a new one in every tree.
  target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  set(precompiled
    <algorithm> <array> <atomic> <chrono> <deque> <expected> <filesystem> <functional> <map> <memory> <mutex>
    <optional> <set> <span> <string> <string_view> <thread> <unordered_map> <utility> <vector>
    <nlohmann/json.hpp>)
  target_precompile_headers(${target} PRIVATE ${precompiled})
  paravane_checksum_precompiled(${target} ${precompiled})
endfunction()

if(PARAVANE_PRECOMPILE)
  paravane_precompiled_headers(paravane_precompiled paravane_driven)
  paravane_precompiled_headers(paravane_precompiled_undriven paravane_undriven)
endif()

function(paravane_precompile target)
  if(PARAVANE_PRECOMPILE AND "UNDRIVEN" IN_LIST ARGN)
    target_precompile_headers(${target} REUSE_FROM paravane_precompiled_undriven)
  elseif(PARAVANE_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM paravane_precompiled)
  endif()
endfunction()
