// CongestionNotices decides when a connection tells its peer that the network has marked the peer's
// packets: with one congestion notification packet (CNP) for all marks of a short time. The sender
// of marked packets slows down; it does not hear of marks in another way.
//
// Owner thread only. Source: IBTA annex A17.9; the time is that of DCQCN (SIGCOMM 2015).

#pragma once

#include <optional>

#include "base/instant.h"

namespace paravane::transport_roce {

class CongestionNotices {
 public:
  static constexpr Duration kApart = std::chrono::microseconds(50);

  // A packet came that the network has marked.
  void on_mark(Instant now) {
    if (!sent_at_ || now - *sent_at_ >= kApart) is_due_ = true;
  }
  bool is_due() const { return is_due_; }
  // What is due is not sent any more.
  void drop() { is_due_ = false; }
  void on_sent(Instant now) {
    is_due_ = false;
    sent_at_ = now;
  }

 private:
  bool is_due_ = false;
  std::optional<Instant> sent_at_;
};

}  // namespace paravane::transport_roce
