# paravane_checksum_precompiled(target header ...): lets ccache know a target's precompiled
# header by what was read for it instead of by its bytes, for those have the paths of the
# build tree in them: another clone would find nothing in the cache.
#
# It writes the checksum where ccache looks for it when CCACHE_PCH_EXTSUM is set (the
# presets do). Clang only; ccache knows what gcc makes by its content.

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # As CMake has it, less a second -include of the header by its absolute path, which
  # ccache does not make relative. The precompiled header has all of it.
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
endif()

function(paravane_checksum_precompiled target)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  set(folder ${CMAKE_BINARY_DIR}/CMakeFiles/${target}.dir)
  list(TRANSFORM ARGN REPLACE "(.+)" "#include \\1\n" OUTPUT_VARIABLE lines)
  string(CONCAT text ${lines})
  file(WRITE ${folder}/read.h "${text}")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -std=c++23 -x c++ -M ${folder}/read.h
    OUTPUT_VARIABLE read COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "[ \\\n]+" ";" read "${read}")
  list(FILTER read INCLUDE REGEX "^/")
  list(REMOVE_ITEM read ${folder}/read.h)
  set(sums "${CMAKE_CXX_COMPILER_VERSION} ${text}")
  foreach(header IN LISTS read)
    file(SHA256 ${header} sum)
    string(APPEND sums "${sum}\n")
  endforeach()
  string(SHA256 sum "${sums}")
  file(WRITE ${folder}/cmake_pch.hxx.pch.sum "${sum}\n")
endfunction()
