// Doorbells: interprets a doorbell word, however it arrived. A word contains a handle; the owner
// of the handle must be the owner of the page. The page alone decides the owner: page 0 belongs to
// the guest's kernel, the others to one context each. Any other word is counted and dropped, so
// one process of a guest cannot ring for another.
//
// Owner thread only.

#pragma once

#include <cstdint>

#include "device/completion_events.h"
#include "device/doorbell_watch.h"
#include "device/objects.h"
#include "device/pvrdma_device.h"

namespace paravane::device {

class Doorbells final : public WordSink {
 public:
  Doorbells(Objects& objects, CompletionEvents& events, DoorbellWatch& watch,
            DeviceCounters& counters);

  // A store into page `page` that came as a message.
  void on_message(std::uint32_t page, std::uint32_t offset, std::uint32_t word, bool posted);

  // ---- WordSink: words taken from shared pages ----
  QueuePair* resolve_qp_word(UserContext& context, std::uint32_t word) override;
  SharedReceiveQueue* resolve_srq_word(UserContext& context, std::uint32_t word) override;
  void on_cq_word(UserContext& context, std::uint32_t word) override;

 private:
  QueuePair* find_qp(std::uint32_t context, std::uint32_t word);
  SharedReceiveQueue* find_srq(std::uint32_t context, std::uint32_t word);
  void ring_qp(std::uint32_t context, std::uint32_t word);
  void ring_srq(std::uint32_t context, std::uint32_t word);
  void ring_cq(std::uint32_t context, std::uint32_t word, ArmPath path);

  Objects& objects_;
  CompletionEvents& events_;
  DoorbellWatch& watch_;
  DeviceCounters& counters_;
};

}  // namespace paravane::device
