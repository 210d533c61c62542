// Cable: the end of a cable at this host's switch: a link to the switch of another host of the
// cluster. It trains the port with the port at the other end, and carries packets both ways over a
// line.
//
// A line that is lost takes the port down kSilenceLimit after its last frame; with a new one before
// that, on which the other end speaks of its port, the link goes on, and the subnet manager notices
// nothing. So it is, too, where a host's engine is replaced. If a port was down meanwhile, both are
// trained anew.
//
// The other end may be hostile: its packets go through the checks of a switch's port
// (SubnetSwitch::on_packet), and its words about its port take the port up at most every
// kShortestUp. The subnet's thread only. Throws std::bad_alloc where memory lacks: a packet is lost
// at most, and a port that is to change changes later.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/instant.h"
#include "base/turn_clock.h"
#include "cable/line.h"
#include "cable/send_queue.h"
#include "subnet/link_end.h"
#include "subnet/subnet.h"

namespace paravane::cable {

class Cable final : public subnet::LinkEnd, private Line::Listener {
 public:
  static constexpr std::chrono::milliseconds kShortestUp{100};

  // Attached to a port of the subnet's switch. nullptr: the switch has no free port. All outlive
  // us.
  static std::unique_ptr<Cable> attach(const std::string& host, subnet::Subnet& subnet,
                                       const TurnClock& clock);
  ~Cable() override;
  Cable(const Cable&) = delete;
  Cable& operator=(const Cable&) = delete;

  subnet::PortNumber port() const { return number_; }

  // ---- The line ----
  // Replaces the one before.
  void connect(std::unique_ptr<ByteStream> stream);
  void disconnect();
  // nullptr: it is not connected.
  const Line* line() const { return line_.get(); }
  // Whether the other end has said that its port is disabled, or asleep.
  bool other_end_is_down() const { return line_ && heard_ == LinkWord::kDown; }
  // The line is of no use, for a reason that this host has. REQUIRES: there is one.
  void refuse_line(std::string reason) { line_->refuse(std::move(reason)); }
  void heard_event() {
    if (line_) line_->heard_event();
  }
  // Takes at most `most` frames; returns how many.
  std::size_t receive(std::size_t most) { return line_ ? line_->receive(most, *this) : 0; }
  void flush();

  void on_time(Instant now);
  Instant next_deadline() const;

  // ---- subnet::LinkEnd ----
  void send(subnet::Packet packet) override;
  void on_order() override { is_due_ = true; }

 private:
  Cable(subnet::Subnet& subnet, const TurnClock& clock);
  subnet::Port& switch_port() const { return *subnet_.the_switch().port(number_); }
  // Takes the port up or down as the words of the other end ask for, and tells the other end.
  void judge();
  void tell(LinkWord word);

  // ---- Line::Listener ----
  void on_packet(std::span<const std::byte> packet, std::uint8_t cables) override;
  void on_link_word(LinkWord word) override;

  subnet::Subnet& subnet_;
  const TurnClock& clock_;
  subnet::PortNumber number_ = 0;
  SendQueue queue_;
  std::unique_ptr<Line> line_;
  bool is_due_ = true;
  // What the line said last, and what it was told.
  std::optional<LinkWord> heard_;
  std::optional<LinkWord> told_;
  bool is_silent_ = true;      // this line was told nothing yet
  bool must_go_down_ = false;  // the port at the other end has been down meanwhile
  Instant may_go_up_ = Instant::min();
  Instant down_at_ = kNever;  // without a line on which the other end has spoken of its port
};

}  // namespace paravane::cable
