# paravane_folder(name [UNDRIVEN] [CONTROL] [TESTS_APART] SOURCES ... HEADERS ... TESTS ... USES ... LIBS ... TEST_USES ...)
#
# One folder is one library. USES names the folders below it (the same arrows as
# in tools/check_floors.py), LIBS other people's libraries, TEST_USES what only
# its unit tests need. Paths are relative to the calling CMakeLists.txt; a folder
# below another is named with an underscore (transport_local). UNDRIVEN: no fuzzer drives it.
# CONTROL: no guest's data passes through it. The preset release compiles it with -O1, which takes three fifths
# of the compiler's time that -O3 takes, and a first build waits for that; Debian's packages have their own options.
#
# With PARAVANE_BATCH the compiler reads eight sources as one, for most of its time goes into
# headers. So two sources of a folder have no two things of one name in their unnamed
# namespaces, nor two of its tests, unless TESTS_APART compiles each of these alone.
function(paravane_folder name)
  cmake_parse_arguments(arg "UNDRIVEN;CONTROL;TESTS_APART" "" "SOURCES;HEADERS;TESTS;USES;LIBS;TEST_USES" ${ARGN})
  list(TRANSFORM arg_USES PREPEND paravane_)
  list(TRANSFORM arg_TEST_USES PREPEND paravane_)
  list(TRANSFORM arg_HEADERS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)

  if(arg_SOURCES)
    add_library(paravane_${name} STATIC ${arg_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(paravane_${name} PRIVATE paravane_warnings)
    if(arg_UNDRIVEN)
      target_link_libraries(paravane_${name} PRIVATE paravane_undriven)
      paravane_precompile(paravane_${name} UNDRIVEN)
    else()
      target_link_libraries(paravane_${name} PRIVATE paravane_driven)
      paravane_precompile(paravane_${name})
    endif()
    paravane_batch(paravane_${name})
    if(arg_CONTROL)
      target_compile_options(paravane_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
  else()
    add_library(paravane_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_sources(paravane_${name} ${scope} FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${arg_HEADERS})
  target_link_libraries(paravane_${name} ${scope} ${arg_USES} ${arg_LIBS} Threads::Threads)

  if(arg_TESTS)
    add_executable(paravane_${name}_test ${arg_TESTS})
    target_link_libraries(paravane_${name}_test PRIVATE paravane_${name} ${arg_TEST_USES})
    if(NOT arg_TESTS_APART)
      paravane_batch(paravane_${name}_test)
    endif()
    paravane_gtest(paravane_${name}_test)
  endif()
endfunction()
