# paravane_gtest(target ...): an executable of unit tests, and each of its tests in ctest; more is
# as of gtest_discover_tests().
#
# They are built for being built often: without optimisation, whatever the preset (what
# they test has its own), and with the headers that all of them read compiled once.

add_library(paravane_gtest_headers OBJECT ${CMAKE_CURRENT_LIST_DIR}/gtest_headers.cc)
target_link_libraries(paravane_gtest_headers PRIVATE paravane_warnings GTest::gmock Threads::Threads)
target_compile_options(paravane_gtest_headers PRIVATE -O0
  # Or ccache would take it for a new one in every tree.
  $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
set(gtest_headers
  <gmock/gmock.h> <gtest/gtest.h>
  <algorithm> <array> <chrono> <expected> <functional> <map> <memory> <mutex> <optional> <span>
  <string> <string_view> <thread> <vector>)
target_precompile_headers(paravane_gtest_headers PRIVATE ${gtest_headers})
paravane_checksum_precompiled(paravane_gtest_headers ${gtest_headers})

function(paravane_gtest target)
  target_link_libraries(${target} PRIVATE paravane_warnings GTest::gmock GTest::gtest_main)
  target_compile_options(${target} PRIVATE -O0)
  target_precompile_headers(${target} REUSE_FROM paravane_gtest_headers)
  gtest_discover_tests(${target} DISCOVERY_TIMEOUT 60 ${ARGN})
endfunction()
