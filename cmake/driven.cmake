# How our libraries are compiled in the tree that has fuzzers. paravane_driven: what they drive,
# so that they see their way, and fast enough to be driven far. paravane_undriven: the rest,
# compiled in half the time.

add_library(paravane_driven INTERFACE)
add_library(paravane_undriven INTERFACE)
if(PARAVANE_FUZZ AND PARAVANE_SANITIZE MATCHES "address")
  target_compile_options(paravane_driven INTERFACE -O1 -fsanitize=fuzzer-no-link)
  # The library's checks of indices and spans: no sanitizer sees inside an object.
  target_compile_definitions(paravane_undriven INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_libraries(paravane_driven INTERFACE paravane_undriven)
endif()
