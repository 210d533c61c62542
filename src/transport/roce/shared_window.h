// SharedWindow divides what a port may have under way among its requesters that have requests.
//
// They often have one peer, or one uplink, whose queue they fill together. A thousand windows of a
// few packets each are more than the queue holds, and a requester learns of that when packets are
// lost.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/roce/retransmission.h"

namespace paravane::transport_roce {

class SharedWindow {
 public:
  // Packets: half of a tap's queue (ethernet/roce_port.cc), whose other half is for answers and
  // for what others send.
  static constexpr std::uint32_t kMost = 4096;

  // A requester's part, while it has requests. The window outlives it.
  class Part {
   public:
    explicit Part(SharedWindow& window) : window_(window) {}
    ~Part() { leave(); }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    void take() {
      if (!taken_) window_.change(1);
      taken_ = true;
    }
    void leave() {
      if (taken_) window_.change(-1);
      taken_ = false;
    }
    // Packets that it may have under way.
    std::uint32_t packets() const { return window_.part_; }

   private:
    SharedWindow& window_;
    bool taken_ = false;
  };

 private:
  void change(int count) {
    requesters_ += static_cast<std::uint32_t>(count);
    part_ = std::max(kMost / std::max(requesters_, 1U), Retransmission::kLeastWindow);
  }

  std::uint32_t requesters_ = 0;
  std::uint32_t part_ = kMost;
};

}  // namespace paravane::transport_roce
