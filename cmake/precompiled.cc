// Carries the precompiled headers of our libraries; see precompiled.cmake.
