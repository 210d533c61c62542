# What every target of ours is compiled with: warnings are errors on both
# compilers, and the sanitizers or coverage that the preset asked for.

# Off in packages: their compiler is the distribution's, and each has false positives of its own.
option(PARAVANE_WERROR "Warnings are errors" ON)

add_library(paravane_warnings INTERFACE)
target_compile_options(paravane_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
  -Wold-style-cast -Wswitch-enum $<$<BOOL:${PARAVANE_WERROR}>:-Werror>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  # g++ 12 sees overlapping copies in std::string operator+ (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)

if(PARAVANE_SANITIZE)
  add_compile_options(-fsanitize=${PARAVANE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PARAVANE_SANITIZE})
  # g++ 12 reports false positives of these when sanitizers reshape the code.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
                      $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
endif()
if(PARAVANE_COVERAGE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
    add_link_options(-fprofile-instr-generate)
  else()
    add_compile_options(--coverage)
    add_link_options(--coverage)
  endif()
endif()
