// Doorbells: interprets doorbell words, whether they were stored in a shared page or arrived as a
// message. A word contains the handle of a queue. The page identifies the owner of the word,
// because page 0 belongs to the guest's kernel and each other page to one process.
//
// A word is accepted only if its queue belongs to the same owner, so one process of the guest
// cannot ring a doorbell of another. Other words are counted and dropped.
//
// Owner thread only. Source: docs/device-spec.md, section 3.

#pragma once

#include <cstdint>

#include "device/doorbell_watch.h"
#include "device/objects.h"
#include "device/pvrdma_device.h"
#include "device/queues/completion_events.h"

namespace paravane::device {

class Doorbells final : public WordSink {
 public:
  Doorbells(Objects& objects, CompletionEvents& events, DoorbellWatch& watch,
            DeviceCounters& counters);

  // A store to page `page` has arrived as a message.
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
