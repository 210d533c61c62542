// MadPort: the management datagrams of one port of a host's adapter. It keeps the agents that are
// registered there, matches answers with what was asked, asks again when no answer comes, and joins
// segments (RMPP). A port's own agents (SubnetAgent, PerformanceAgent) answer before it.
//
// It stands where a kernel's MAD layer does, and is as strict: what an agent sends is changed in
// two ways, its transaction's upper half and its source.
//
// Agents come from programs of the host that may be anybody's, and MADs from the subnet: both are
// bounded in number and bytes. The subnet's thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

#include "base/instant.h"
#include "subnet/mad_agent.h"

namespace paravane::subnet {

enum class AgentRefusal : std::uint8_t {
  kBadWish,  // no such class or version
  kTaken,    // another agent has the class and one of the methods
  kNoRoom,
};

enum class SendRefusal : std::uint8_t {
  kNoAgent,
  kLength,       // not 256 bytes, and no segments
  kNoRoom,       // too many MADs wait for an answer, or too many bytes of long ones to be sent
  kBadClass,     // another class than the agent's, or an impossible route
  kNotActive,    // a long one, and the port does not send
  kNoPartition,  // its index has no key
};

class MadPort {
 public:
  static constexpr std::size_t kMostAgents = 256;

  virtual ~MadPort() = default;

  // `agent` outlives its registration.
  virtual std::expected<AgentId, AgentRefusal> register_agent(const AgentWish& wish,
                                                              MadAgent& agent) = 0;
  // What it asked is forgotten. An unknown agent is ignored.
  virtual void unregister(AgentId agent) = 0;
  // `timeout`: of each try, 10 ms at least; zero: no answer is waited for. `mad` is copied. Throws
  // std::bad_alloc: it was not sent, and is not waited for.
  virtual std::expected<void, SendRefusal> send(AgentId agent, const MadAddress& to,
                                                std::span<const std::byte> mad, Duration timeout,
                                                unsigned retries, Instant now) = 0;
  // A subnet manager runs at this port from now on, or does no longer. Its capabilities say whether
  // any does.
  virtual void set_manager(bool is_manager) = 0;
};

}  // namespace paravane::subnet
