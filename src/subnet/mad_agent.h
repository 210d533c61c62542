// MadAgent: a program, or a part of this one, that sends management datagrams (MADs) at a port and
// receives them, as what registers with a kernel's MAD layer does. AgentWish is what it registers
// for, and MadPort (mad_port.h) is where.
//
// The subnet's thread only.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "subnet/mad_address.h"

namespace paravane::subnet {

// The number of a registration; unique in its port, and in the upper half of the transaction of
// each MAD that the agent sends, so that answers find it. 0: none.
enum class AgentId : std::uint32_t { kNone = 0 };

struct AgentWish {
  std::uint8_t management_class = 0;
  std::uint8_t class_version = 0;
  std::uint32_t oui = 0;  // of a vendor's class with one
  // Whether segments are cut and joined for it (RMPP, IBTA 13.6). Otherwise it sees each.
  bool joins_segments = false;
  // The methods of MADs that it gets without having asked: bit M of word M / 64.
  std::array<std::uint64_t, 2> methods{};

  bool wants(std::uint8_t method) const {
    return method < 128 && ((methods[method / 64] >> (method % 64)) & 1) != 0;
  }
  bool wants_any() const { return (methods[0] | methods[1]) != 0; }
};

class MadAgent {
 public:
  virtual ~MadAgent() = default;

  // A MAD for this agent: an answer to one of its own, or one with a method that it wants. 256
  // bytes; more if segments are joined for it. The transaction is as the agent chose it, in the
  // lower half. It may send from here, and may not unregister. If it throws std::bad_alloc, the
  // answer counts as lost on its way.
  virtual void on_mad(AgentId agent, const MadAddress& from, std::span<const std::byte> mad) = 0;
  // A MAD that it sent with a time to wait was not answered in it. `mad` begins as what was sent.
  // If it throws std::bad_alloc, it is told again later.
  virtual void on_no_answer(AgentId agent, const MadAddress& to,
                            std::span<const std::byte> mad) = 0;
};

}  // namespace paravane::subnet
