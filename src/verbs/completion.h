// Completion describes the result of one work request. CompletionQueue is the interface of the
// queue that receives it.

#pragma once

#include <cstdint>
#include <optional>

#include "verbs/types.h"

namespace paravane::verbs {

enum class NetworkHeader : std::uint8_t { kRoceV1 = 0, kIpv4 = 1, kIpv6 = 2 };

struct Completion {
  std::uint64_t wr_id = 0;
  std::uint32_t qp_tag = 0;  // QueuePairSpec::tag of the QP
  WcOpcode opcode = WcOpcode::kSend;
  WcStatus status = WcStatus::kSuccess;
  bool with_imm = false;
  bool with_grh = false;
  bool solicited = false;  // a receive whose sender asked for an event
  NetworkHeader network_header = NetworkHeader::kRoceV1;
  std::uint8_t service_level = 0;
  std::uint32_t byte_len = 0;
  Immediate imm{};
  std::optional<std::uint32_t> invalidated_key{};  // a receive whose sender asked for that
  std::uint32_t source_qpn = 0;
  // How many later requests of the same queue were taken from the guest's ring before this one was
  // done. Not of receives of datagrams, which may be done in another order.
  std::uint32_t behind = 0;
};

inline bool is_receive(WcOpcode opcode) {
  return opcode == WcOpcode::kReceive || opcode == WcOpcode::kReceiveRdmaWithImm;
}

// When the guest should see a completion.
enum class Reveal : std::uint8_t {
  kNow,
  kSoon,  // with the next completions, or when the caller calls reveal()
};

class CompletionQueue {
 public:
  virtual ~CompletionQueue() = default;

  // False: the queue is full or dead (overrun). The completion is lost, the
  // queue reports its own error, and the QP goes to ERR.
  [[nodiscard]] virtual bool push(const Completion& completion, Reveal when) = 0;

  // Makes all completions visible. A caller that pushed with kSoon calls this before its turn ends.
  virtual void reveal() = 0;
};

}  // namespace paravane::verbs
