// Copies that ThreadSanitizer does not follow: by which a guest races with itself,
// as is its right.

#pragma once

#include <cstddef>
#include <cstdint>

namespace paravane::fake {

#if defined(__clang__)
__attribute__((no_sanitize("thread"), noinline))
#endif
inline void
copy_unwatched(void* to, const void* from, std::size_t bytes) {
  auto* target = static_cast<volatile std::byte*>(to);
  const auto* source = static_cast<const volatile std::byte*>(from);
  for (std::size_t i = 0; i < bytes; ++i) target[i] = source[i];
}

}  // namespace paravane::fake
