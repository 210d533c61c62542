// FreeNumbers: a pool of numbers that were handed out and returned. The number that has been free
// for the longest time is reused first.
//
// The owner reserves memory for a number before handing it out. Returning a number, which happens
// while an object is destroyed, therefore never allocates memory.
//
// Owner thread only.

#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace paravane {

class FreeNumbers {
 public:
  // Reserves memory for `count` numbers in total. Throws std::bad_alloc without changing anything.
  void make_room(std::size_t count) {
    if (count <= ring_.size()) return;
    std::vector<std::uint32_t> wider(count < 2 * ring_.size() ? 2 * ring_.size() : count);
    for (std::size_t i = 0; i < held_; ++i) wider[i] = ring_[(first_ + i) % ring_.size()];
    ring_ = std::move(wider);
    first_ = 0;
  }

  bool empty() const { return held_ == 0; }

  // In the order in which take() would return them.
  template <typename Each>
  void for_each(Each each) const {
    for (std::size_t i = 0; i < held_; ++i) each(ring_[(first_ + i) % ring_.size()]);
  }

  // REQUIRES: there is room.
  void put(std::uint32_t number) noexcept {
    assert(held_ < ring_.size());
    ring_[(first_ + held_) % ring_.size()] = number;
    ++held_;
  }

  std::optional<std::uint32_t> take() noexcept {
    if (empty()) return std::nullopt;
    const std::uint32_t number = ring_[first_];
    first_ = (first_ + 1) % ring_.size();
    --held_;
    return number;
  }

 private:
  std::vector<std::uint32_t> ring_;
  std::size_t first_ = 0;
  std::size_t held_ = 0;
};

}  // namespace paravane
