// RequestTable: the requests of one client that are under way, and the order in which their replies
// go. A request has its place from its header until its reply is in the socket, so places bound
// what a client can have of us.
//
// Owner thread only. Allocates nothing.

#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "nbd/block_device.h"
#include "nbd/request.h"

namespace paravane::nbd {

class RequestTable {
 public:
  static constexpr std::size_t kPlaces = 64;
  using Place = std::uint8_t;

  struct Entry {
    Request request{};
    ReplyError error = ReplyError::kNone;
    std::string_view message{};             // of an error; a literal
    std::unique_ptr<BlockBuffer> buffer{};  // of a read that is done: what it has read
  };

  RequestTable() {
    for (std::size_t i = 0; i < kPlaces; ++i) free_[i] = static_cast<Place>(i);
  }

  bool is_full() const { return used_ == kPlaces; }
  std::size_t used() const { return used_; }
  bool has_replies() const { return replies_ > 0; }

  // REQUIRES: not full.
  Place take(const Request& request) {
    assert(!is_full());
    const Place place = free_[used_++];
    entries_[place] = {.request = request};
    return place;
  }
  Entry& at(Place place) { return entries_[place]; }

  // Its reply can go.
  void finish(Place place) {
    assert(replies_ < kPlaces);
    order_[(first_ + replies_++) % kPlaces] = place;
  }
  // The next whose reply can go. REQUIRES: has_replies().
  Place next_reply() {
    assert(has_replies());
    const Place place = order_[first_];
    first_ = (first_ + 1) % kPlaces;
    --replies_;
    return place;
  }
  // Its reply is in the socket, or never will be.
  void leave(Place place) {
    assert(used_ > 0);
    entries_[place].buffer.reset();
    free_[--used_] = place;
  }

  // Gives back all memory for payload.
  void drop_buffers() {
    for (Entry& entry : entries_) entry.buffer.reset();
  }

 private:
  std::array<Entry, kPlaces> entries_{};
  std::array<Place, kPlaces> free_{};   // from used_ on
  std::array<Place, kPlaces> order_{};  // a ring of those that are finished
  std::size_t used_ = 0;
  std::size_t first_ = 0;
  std::size_t replies_ = 0;
};

}  // namespace paravane::nbd
