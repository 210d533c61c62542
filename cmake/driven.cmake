# paravane_driven: how our libraries are compiled where fuzzers drive them: so that these see
# their way, and fast enough to be driven far.

add_library(paravane_driven INTERFACE)
if(PARAVANE_FUZZ AND PARAVANE_SANITIZE MATCHES "address")
  target_compile_options(paravane_driven INTERFACE -O1 -fsanitize=fuzzer-no-link)
  # The library's checks of indices and spans: no sanitizer sees inside an object.
  target_compile_definitions(paravane_driven INTERFACE _GLIBCXX_ASSERTIONS)
endif()
