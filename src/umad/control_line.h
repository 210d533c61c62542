// ControlLine: a program's connection to the umad door. It answers the program's questions, and
// owns the MAD lines that it has opened (door_protocol.h).
//
// The program is a stranger: a message that cannot be ends the line. The subnet's thread only.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/event_loop.h"
#include "base/limited_log.h"
#include "base/turn_clock.h"
#include "base/unique_fd.h"
#include "subnet/subnet.h"
#include "umad/door_protocol.h"
#include "umad/mad_line.h"

namespace paravane::umad {

class ControlLine {
 public:
  // What all control lines have together.
  struct Room {
    std::size_t lines = 0;       // MAD lines
    MessageBudget::Turn turn{};  // of the thread
    std::uint32_t ipoib_uplinks = 0;
    LimitedLog log{};
  };

  // `on_end`: the program has gone, or said what cannot be; it may destroy us. All else outlives
  // us.
  ControlLine(UniqueFd socket, subnet::Subnet& subnet, Room& room, EventLoop& loop,
              const TurnClock& clock, std::function<void()> on_end);
  ~ControlLine();
  ControlLine(const ControlLine&) = delete;
  ControlLine& operator=(const ControlLine&) = delete;

  // Errors: kIo.
  Status watch();
  // An adapter goes: its lines end.
  void forget(const subnet::HostAdapter& adapter);

 private:
  struct OpenLine {
    std::unique_ptr<MadLine> line;
    const subnet::HostAdapter* adapter;
  };

  void on_ready();
  // False: the line is to end.
  bool answer(const Question& question);
  bool open(const Question& question);
  Outcome about_line(const Question& question);
  bool say(Outcome outcome, std::span<const std::byte> facts = {}, int descriptor = -1);
  void close(std::uint32_t line);
  // What was dropped as its program did not read it is logged when a line ends.
  void tell_dropped(const MadLine& line);

  UniqueFd socket_;
  subnet::Subnet& subnet_;
  Room& room_;
  EventLoop& loop_;
  const TurnClock& clock_;
  const std::function<void()> on_end_;
  MessageBudget budget_{room_.turn};
  std::map<std::uint32_t, OpenLine> lines_;
};

}  // namespace paravane::umad
