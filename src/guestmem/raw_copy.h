// The primitive copies of this folder: the only code that touches bytes which a guest may change
// concurrently.
//
// Payload and ring entries may race with the guest by design: whatever the outcome, the result is
// only bytes. ThreadSanitizer must not see these copies, so its builds exclude them from
// instrumentation. Ring indices provide the ordering, and are real atomics.
//
// guestmem/ only.

#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/wire_int.h"

#if defined(__SANITIZE_THREAD__)
#define PARAVANE_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PARAVANE_THREAD_SANITIZER 1
#endif
#endif

#if defined(PARAVANE_THREAD_SANITIZER)
#define PARAVANE_UNWATCHED __attribute__((no_sanitize("thread"), noinline))
#else
#define PARAVANE_UNWATCHED
#endif

namespace paravane::raw_copy {

inline constexpr std::uint64_t kCacheLineBytes = 64;

inline void prefetch(const std::byte* line) {
  __builtin_prefetch(line);
}

// Taken from the processor that has it, now rather than when a store has to wait.
inline void prefetch_to_write(const std::byte* line) {
#if defined(__x86_64__)
  // The compiler's own means is a plain prefetch unless it is built for newer
  // processors; older ones take PREFETCHW for a NOP.
  asm volatile("prefetchw %0" : : "m"(*line));
#else
  __builtin_prefetch(line, 1);
#endif
}

// Ranges may overlap (a guest may name the same memory twice).
PARAVANE_UNWATCHED inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t size) {
#if defined(PARAVANE_THREAD_SANITIZER) && defined(__x86_64__)
  // Not memmove: that is watched wherever it is called from.
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
#elif defined(PARAVANE_THREAD_SANITIZER)
  for (std::size_t i = 0; i < size; ++i) {
    const volatile std::byte* source = from + i;
    volatile std::byte* target = to + i;
    *target = *source;
  }
#else
  std::memmove(to, from, size);
#endif
  // From here on the compiler must use the copy and may not go back for more.
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

// A ring's entry, to where it is read field by field at once: in words, since a
// processor hands a wide store's upper half on to narrow loads only when all stores
// before it are done, and those wait for lines that the guest holds.
PARAVANE_UNWATCHED inline void copy_entry(std::byte* to, const std::byte* from, std::size_t size) {
  for (; size >= sizeof(std::uint64_t); size -= sizeof(std::uint64_t)) {
    const std::uint64_t word = *reinterpret_cast<const volatile std::uint64_t*>(from);
    __builtin_memcpy(to, &word, sizeof word);
    to += sizeof word;
    from += sizeof word;
  }
  if (size > 0) copy_bytes(to, from, size);
}

// One aligned store that becomes visible after every store before it.
template <typename T>
PARAVANE_UNWATCHED inline void store_in_order(std::byte* to, const std::byte* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof(T));
#if defined(__x86_64__)
  // Stores of one core are seen in program order; only the compiler must keep it.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  *reinterpret_cast<volatile T*>(to) = value;
  std::atomic_signal_fence(std::memory_order_seq_cst);
#else
  __atomic_store_n(reinterpret_cast<T*>(to), value, __ATOMIC_RELEASE);
#endif
}

// Ascending aligned stores: a reader that sees the last byte sees all before it.
PARAVANE_UNWATCHED inline void copy_ascending(std::byte* to, const std::byte* from,
                                              std::size_t size) {
  const auto step = [&]<typename T>(T) {
    store_in_order<T>(to, from);
    to += sizeof(T);
    from += sizeof(T);
    size -= sizeof(T);
  };
  const auto odd = [&](std::size_t bytes) {
    return (reinterpret_cast<std::uintptr_t>(to) & bytes) != 0 && size >= bytes;
  };
  if (odd(1)) step(std::uint8_t{});
  if (odd(2)) step(std::uint16_t{});
  if (odd(4)) step(std::uint32_t{});
  while (size >= 8) step(std::uint64_t{});
  if (size >= 4) step(std::uint32_t{});
  if (size >= 2) step(std::uint16_t{});
  if (size >= 1) step(std::uint8_t{});
}

// If this memory fails, it fails here: ThreadSanitizer performs atomics inside
// its runtime, with locks held that the SIGBUS handler would need.
PARAVANE_UNWATCHED inline void fail_early([[maybe_unused]] const std::byte* at) {
#if defined(PARAVANE_THREAD_SANITIZER)
  (void)*static_cast<const volatile std::byte*>(at);
#endif
}

// REQUIRES: 4-byte aligned.
inline std::uint32_t load_index(const std::byte* at) {
  fail_early(at);
  const std::uint32_t raw =
      __atomic_load_n(reinterpret_cast<const std::uint32_t*>(at), __ATOMIC_ACQUIRE);
  return std::bit_cast<Le32>(raw).get();
}

// REQUIRES: 4-byte aligned.
inline void store_index(std::byte* at, std::uint32_t value) {
  fail_early(at);
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(at), std::bit_cast<std::uint32_t>(Le32(value)),
                   __ATOMIC_RELEASE);
}

// The processor's own operations: a loop could be kept going by a guest that
// changes the word all the time.
static_assert(std::endian::native == std::endian::little);

// REQUIRES of both: 8-byte aligned. The word's value before.
inline std::uint64_t fetch_and_add(std::byte* at, std::uint64_t addend) {
  fail_early(at);
  return __atomic_fetch_add(reinterpret_cast<std::uint64_t*>(at), addend, __ATOMIC_ACQ_REL);
}
inline std::uint64_t compare_and_swap(std::byte* at, std::uint64_t compare, std::uint64_t swap) {
  fail_early(at);
  __atomic_compare_exchange_n(reinterpret_cast<std::uint64_t*>(at), &compare, swap, false,
                              __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return compare;
}

}  // namespace paravane::raw_copy
