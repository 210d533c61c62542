#include "base/memory_reserve.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace paravane {
namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the new handler of the process
// has no other state
std::atomic<bool> is_kept{false};
std::atomic<void*> block{nullptr};
std::atomic<std::uint64_t> uses{0};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

// Returns when there is something to try again for.
void give_up_reserve() {
  void* const kept = block.exchange(nullptr);
  if (kept == nullptr) throw std::bad_alloc();
  ++uses;
  std::free(kept);
}

}  // namespace

void keep_memory_reserve() {
  is_kept = true;
  block = std::malloc(kMemoryReserveBytes);
  std::set_new_handler(give_up_reserve);
}

bool has_memory_reserve() {
  if (!is_kept || block.load() != nullptr) return true;
  void* const again = std::malloc(kMemoryReserveBytes);
  if (again == nullptr) return false;
  void* none = nullptr;
  if (!block.compare_exchange_strong(none, again)) std::free(again);
  return true;
}

std::uint64_t memory_reserve_uses() {
  return uses;
}

}  // namespace paravane
