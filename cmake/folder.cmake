# paravane_folder(name SOURCES ... HEADERS ... TESTS ... USES ... LIBS ... TEST_USES ...)
#
# One folder is one library. USES names the folders below it (the same arrows as
# in tools/check_floors.py), LIBS other people's libraries, TEST_USES what only
# its unit tests need. Paths are relative to the calling CMakeLists.txt; a folder
# below another is named with an underscore (transport_local).
function(paravane_folder name)
  cmake_parse_arguments(arg "" "" "SOURCES;HEADERS;TESTS;USES;LIBS;TEST_USES" ${ARGN})
  list(TRANSFORM arg_USES PREPEND paravane_)
  list(TRANSFORM arg_TEST_USES PREPEND paravane_)
  list(TRANSFORM arg_HEADERS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)

  if(arg_SOURCES)
    add_library(paravane_${name} STATIC ${arg_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(paravane_${name} PRIVATE paravane_warnings)
    target_link_libraries(paravane_${name} PRIVATE paravane_driven)
    paravane_precompile(paravane_${name})
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
    paravane_gtest(paravane_${name}_test)
  endif()
endfunction()
