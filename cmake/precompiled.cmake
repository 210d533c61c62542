# paravane_precompile(target): reads the headers that most of our sources read from one
# file, which is compiled once per build tree.
#
# Only where the preset asks for it: what is shipped is built without, so that a source
# that forgets to include what it uses does not get far.

option(PARAVANE_PRECOMPILE "Compile the headers that most sources read once (clang)" OFF)

if(PARAVANE_PRECOMPILE)
  add_library(paravane_precompiled OBJECT ${CMAKE_CURRENT_LIST_DIR}/precompiled.cc)
  target_link_libraries(paravane_precompiled PRIVATE paravane_warnings paravane_driven Threads::Threads)
  # Or ccache would take it for a new one in every tree.
  target_compile_options(paravane_precompiled PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  set(precompiled
    <algorithm> <array> <atomic> <chrono> <deque> <expected> <filesystem> <functional> <map> <memory> <mutex>
    <optional> <set> <span> <string> <string_view> <thread> <unordered_map> <utility> <vector>
    <nlohmann/json.hpp>)
  target_precompile_headers(paravane_precompiled PRIVATE ${precompiled})
  paravane_checksum_precompiled(paravane_precompiled ${precompiled})
endif()

function(paravane_precompile target)
  if(PARAVANE_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM paravane_precompiled)
  endif()
endfunction()
