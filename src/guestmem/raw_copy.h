// The primitive copy operations of guestmem/. No other code accesses bytes that a guest can change
// at the same time.
//
// Copies of payload and ring entries can race with the guest. This is intended, because any outcome
// of a race is only a sequence of bytes. ThreadSanitizer would report these races, so the copies
// are excluded from its instrumentation. Ring indices are real atomics and establish the order.
//
// Only the code in guestmem/ may use this header.

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

// Fetches the cache line from the processor that has it now, so that a later store does not have to
// wait.
inline void prefetch_to_write(const std::byte* line) {
#if defined(__x86_64__)
  // The compiler's builtin emits a plain prefetch unless it builds for newer processors. Older
  // processors execute PREFETCHW as a NOP.
  asm volatile("prefetchw %0" : : "m"(*line));
#else
  __builtin_prefetch(line, 1);
#endif
}

inline void prefetch_lines(const std::byte* at, std::uint64_t size, bool to_write) {
  for (const std::byte* const end = at + size; at < end; at += kCacheLineBytes) {
    to_write ? prefetch_to_write(at) : prefetch(at);
  }
}

// The ranges may overlap, because a guest may specify the same memory twice.
PARAVANE_UNWATCHED inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t size) {
#if defined(PARAVANE_THREAD_SANITIZER) && defined(__x86_64__)
  // Not memmove(), because ThreadSanitizer intercepts it wherever it is called.
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
  // After this fence, the compiler must use the copy and may not read the source again.
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

PARAVANE_UNWATCHED inline void copy_word(std::byte* to, const std::byte* from) {
  const std::uint64_t word = *reinterpret_cast<const volatile std::uint64_t*>(from);
  __builtin_memcpy(to, &word, sizeof word);
}

// Copies a ring entry whose fields are read immediately afterwards. It copies in words, because a
// processor forwards the upper half of a wide store to a narrow load only after all earlier stores
// are complete, and those may wait for cache lines that the guest holds.
PARAVANE_UNWATCHED inline void copy_entry(std::byte* to, const std::byte* from, std::size_t size) {
  for (; size >= 32; size -= 32) {
    copy_word(to, from);
    copy_word(to + 8, from + 8);
    copy_word(to + 16, from + 16);
    copy_word(to + 24, from + 24);
    to += 32;
    from += 32;
  }
  for (; size >= 8; size -= 8) {
    copy_word(to, from);
    to += 8;
    from += 8;
  }
  if (size > 0) copy_bytes(to, from, size);
}

// One aligned store that becomes visible after every store before it.
template <typename T>
PARAVANE_UNWATCHED inline void store_in_order(std::byte* to, const std::byte* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof(T));
#if defined(__x86_64__)
  // The stores of one core become visible in program order; only the compiler must preserve that
  // order.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  *reinterpret_cast<volatile T*>(to) = value;
  std::atomic_signal_fence(std::memory_order_seq_cst);
#else
  __atomic_store_n(reinterpret_cast<T*>(to), value, __ATOMIC_RELEASE);
#endif
}

// Copies with ascending aligned stores, so a reader that sees the last byte sees all bytes before
// it.
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
  for (; size >= 32; size -= 32) {
    store_in_order<std::uint64_t>(to, from);
    store_in_order<std::uint64_t>(to + 8, from + 8);
    store_in_order<std::uint64_t>(to + 16, from + 16);
    store_in_order<std::uint64_t>(to + 24, from + 24);
    to += 32;
    from += 32;
  }
  while (size >= 8) step(std::uint64_t{});
  if (size >= 4) step(std::uint32_t{});
  if (size >= 2) step(std::uint16_t{});
  if (size >= 1) step(std::uint8_t{});
}

// The same for whole words, to an address that is a multiple of 8: the end of most messages. A size
// that is known at compile time makes it a row of loads and stores.
PARAVANE_UNWATCHED inline void copy_words_ascending(std::byte* to, const std::byte* from,
                                                    std::size_t size) {
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    store_in_order<std::uint64_t>(to + at, from + at);
  }
}

// Makes memory that is going to fail do so here. ThreadSanitizer performs atomics inside its
// runtime while it holds locks that the SIGBUS handler would need.
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

// These are single instructions of the processor, because a guest that changes the word constantly
// could keep a loop running forever.
static_assert(std::endian::native == std::endian::little);

// Both functions return the previous value of the word. REQUIRES: 8-byte aligned.
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
