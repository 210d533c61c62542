#include "testing/scarce_memory.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace paravane {
namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): operator new has no other state
std::atomic<bool> is_scarce{false};
std::atomic<std::int64_t> left{0};  // allocations that go through
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

bool fails() {
  return is_scarce.load(std::memory_order_relaxed) && left.fetch_sub(1) == 0;
}

// What operator new does about it; it throws where nothing can be done.
void ask_handler() {
  const std::new_handler handler = std::get_new_handler();
  if (handler == nullptr) throw std::bad_alloc();
  handler();
}

void* allocate(std::size_t bytes) {
  if (fails()) ask_handler();
  void* const block = std::malloc(bytes == 0 ? 1 : bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void* allocate(std::size_t bytes, std::align_val_t alignment) {
  const auto align = static_cast<std::size_t>(alignment);
  const std::size_t whole = (bytes + align - 1) / align * align;
  if (fails()) ask_handler();
  void* const block = std::aligned_alloc(align, whole == 0 ? align : whole);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

ScarceMemory::ScarceMemory(std::uint64_t number) : number_(number) {
  left = static_cast<std::int64_t>(number) - 1;
  is_scarce = true;
}

ScarceMemory::~ScarceMemory() {
  is_scarce = false;
}

bool ScarceMemory::has_failed() const {
  return left < 0;
}

std::uint64_t ScarceMemory::seen() const {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(number_) - 1 - left);
}

}  // namespace paravane

// The library's other forms come to these.
void* operator new(std::size_t bytes) {
  return paravane::allocate(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return paravane::allocate(bytes, alignment);
}
void operator delete(void* block) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t /*bytes*/) noexcept {
  std::free(block);
}
void operator delete(void* block, std::align_val_t /*alignment*/) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  std::free(block);
}
