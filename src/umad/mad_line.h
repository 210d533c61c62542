// MadLine: the daemon's end of a MAD line of the umad door: a socket that carries the MADs of one
// program at one port, both ways (door_protocol.h).
//
// The program is a stranger. What it sends is checked and handed to the port; what arrives for it
// waits here when its socket is full, within a bound, and is dropped and counted above that, as a
// kernel does for a program that does not read. Where memory lacks, std::bad_alloc is thrown and
// costs the message under way; a program that waits for an answer to it is told that none came, as
// long as there is memory for that.
//
// The subnet's thread only.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <vector>

#include "base/event_loop.h"
#include "base/turn_clock.h"
#include "base/unique_fd.h"
#include "subnet/mad_port.h"
#include "umad/door_protocol.h"
#include "umad/message_budget.h"

namespace paravane::umad {

class MadLine final : private subnet::MadAgent {
 public:
  // Bytes: the longest MAD, and some more.
  static constexpr std::size_t kMostWaiting = kMostMad + std::size_t{256} * 1024;
  static constexpr unsigned kMessagesPerWake = 64;

  // `socket`: our end. `on_end`: the program has closed its end, or said what cannot be; it may
  // destroy us. `budget`: of all lines of the program; nullptr: there is no such bound. All outlive
  // us.
  MadLine(UniqueFd socket, subnet::MadPort& port, EventLoop& loop, const TurnClock& clock,
          std::function<void()> on_end, MessageBudget* budget = nullptr);
  ~MadLine() override;
  MadLine(const MadLine&) = delete;
  MadLine& operator=(const MadLine&) = delete;

  // Errors: kIo.
  Status watch();

  Outcome register_agent(std::uint32_t number, const AgentWish& wish);
  Outcome unregister(std::uint32_t number);
  // As long as the line lives.
  void become_manager();

  std::uint64_t dropped() const { return dropped_; }

 private:
  void on_ready(std::uint32_t events);
  // False: the line has ended.
  bool read_message();
  bool take(std::span<const std::byte> message);
  void grow(const MadPart& part, std::span<const std::byte> bytes);
  bool has_agent(std::uint32_t number) const;
  void tell_not_sent(const MadPart& part, std::span<const std::byte> mad);
  void send_on(const MadPart& first, std::span<const std::byte> mad);
  void queue(std::uint32_t number, std::uint32_t status, const subnet::MadAddress& address,
             std::span<const std::byte> mad);
  void flush();

  // ---- subnet::MadAgent ----
  void on_mad(subnet::AgentId agent, const subnet::MadAddress& from,
              std::span<const std::byte> mad) override;
  void on_no_answer(subnet::AgentId agent, const subnet::MadAddress& to,
                    std::span<const std::byte> mad) override;

  std::uint32_t number_of(subnet::AgentId agent) const;

  UniqueFd socket_;
  subnet::MadPort& port_;
  EventLoop& loop_;
  const TurnClock& clock_;
  const std::function<void()> on_end_;
  MessageBudget* const budget_;
  std::array<subnet::AgentId, kMostAgents> agents_{};
  bool is_manager_ = false;
  // A long MAD of which parts have come.
  std::vector<std::byte> growing_;
  std::size_t growing_total_ = 0;
  std::size_t arrived_ = 0;       // bytes of it
  bool is_growing_lost_ = false;  // it found no memory: the rest of it is passed over
  std::list<std::vector<std::byte>> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool waits_for_room_ = false;
  std::uint64_t dropped_ = 0;
};

}  // namespace paravane::umad
