// SharedWindow counts what the requesters of a port have under way together.
//
// They often have one peer, or one uplink, whose queue they fill together. A thousand windows are
// more than the queue holds, and a requester learns of that when packets are lost. When the shared
// window is full, requesters wait in a line, and each sends as much as its own window allows when
// its turn has come. Parts of the window for all of them would be too small to fill superframes.
//
// Owner thread only.

#pragma once

#include <cstdint>

namespace paravane::transport_roce {

class SharedWindow {
 public:
  // Packets: half of a tap's queue (ethernet/roce_port.cc), whose other half is for answers and for
  // what others send.
  static constexpr std::uint32_t kMost = 4096;

  // A requester's share. The window outlives it.
  class Share {
   public:
    explicit Share(SharedWindow& window) : window_(window) {}
    ~Share() { set(0); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // It has so many packets under way now.
    void set(std::uint32_t packets) {
      window_.used_ += packets - packets_;
      packets_ = packets;
    }
    // How many more may be sent.
    std::uint32_t room() const { return window_.room(); }

   private:
    SharedWindow& window_;
    std::uint32_t packets_ = 0;
  };

  bool is_full() const { return used_ >= kMost; }
  std::uint32_t room() const { return is_full() ? 0 : kMost - used_; }
  std::uint32_t used() const { return used_; }

 private:
  std::uint32_t used_ = 0;
};

}  // namespace paravane::transport_roce
