// HandleTable: stores objects under the small numbers (handles) by which the guest refers to them.
//
// A released handle is reused as late as possible. Handles that were never used come first, and
// then the one that has been free the longest. This protects the guest. After a DESTROY command has
// completed, the guest's driver clears the entry for the handle in its own tables, without a lock.
// If the handle were reused at once, the driver could clear the entry of the new object.
//
// Owner thread only.

#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/undo.h"
#include "verbs/index_pool.h"

namespace paravane::device {

template <typename T>
class HandleTable {
 public:
  // Handles from `first` to `end` - 1 are given out.
  HandleTable(std::uint32_t first, std::uint32_t end) : handles_(first, end) {}

  // Takes a free handle; nullopt: no handle is free. put() or give_back() must follow.
  std::optional<std::uint32_t> take_handle() {
    const std::optional<std::uint32_t> handle = handles_.take();
    if (!handle) return std::nullopt;
    Undo untake([&] { give_back(*handle); });
    make_place(*handle);
    untake.keep();
    return handle;
  }
  void give_back(std::uint32_t handle) { handles_.give_back(handle); }

  // Makes room for a handle outside the range from which handles are taken. Its owner keeps such a
  // handle.
  void make_place(std::uint32_t handle) {
    if (handle >= objects_.size()) objects_.resize(std::size_t{handle} + 1);
  }

  // REQUIRES: the handle was taken, or a place was made for it.
  void put(std::uint32_t handle, std::unique_ptr<T> object) noexcept {
    assert(handle < objects_.size());
    assert(objects_[handle] == nullptr);
    objects_[handle] = std::move(object);
    ++count_;
  }

  T* find(std::uint32_t handle) const {
    return handle < objects_.size() ? objects_[handle].get() : nullptr;
  }

  // Destroys the object. The handle becomes free if `reusable` is true.
  void erase(std::uint32_t handle, bool reusable = true) {
    assert(find(handle) != nullptr);
    objects_[handle].reset();
    --count_;
    if (reusable) give_back(handle);
  }

  // Which handles are free (docs/state.md). After load_handles(), each object that is put has to be
  // claimed first, except one at a handle outside the range.
  void save_handles(state::Writer& out) const { handles_.save(out); }
  verbs::IndexPool::Claims load_handles(state::Reader& in) { return handles_.load(in); }

  std::uint32_t count() const { return count_; }
  // One above the highest handle that was ever used. Code that visits all handles in slices needs
  // it.
  std::uint32_t span() const { return static_cast<std::uint32_t>(objects_.size()); }

  template <typename Each>
  void for_each(Each each) const {
    for (const auto& object : objects_) {
      if (object) each(*object);
    }
  }

 private:
  verbs::IndexPool handles_;
  std::vector<std::unique_ptr<T>> objects_;
  std::uint32_t count_ = 0;
};

}  // namespace paravane::device
