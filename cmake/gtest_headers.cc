// Carries the precompiled headers of unit tests; see gtest.cmake.
