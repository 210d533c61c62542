#include "cable/cable.h"

#include <algorithm>
#include <utility>

#include "subnet/port.h"
#include "wire/infiniband/local_route.h"
#include "wire/roce/header_at.h"

namespace paravane::cable {

std::unique_ptr<Cable> Cable::attach(const std::string& host, subnet::Subnet& subnet,
                                     const TurnClock& clock) {
  std::unique_ptr<Cable> cable(new Cable(subnet, clock));
  const auto port = subnet.attach_cable(host, *cable);
  if (!port) return nullptr;
  cable->number_ = *port;
  // An engine before has left the link as it was; so does a line that speaks of it in time.
  if (!cable->switch_port().is_down()) cable->down_at_ = clock.now + kSilenceLimit;
  return cable;
}

Cable::Cable(subnet::Subnet& subnet, const TurnClock& clock) : subnet_(subnet), clock_(clock) {}

Cable::~Cable() {
  if (number_ != 0) subnet_.detach_cable(number_);
}

// ---- The line ----

void Cable::connect(std::unique_ptr<ByteStream> stream) {
  line_ = std::make_unique<Line>(std::move(stream), number_, subnet_.the_switch().identity().guid,
                                 clock_);
  queue_.clear();
  heard_.reset();
  told_.reset();
  is_silent_ = true;
  is_due_ = true;
}

void Cable::disconnect() {
  if (line_ && down_at_ == kNever) down_at_ = line_->heard() + kSilenceLimit;
  line_.reset();
  queue_.clear();
}

void Cable::flush() {
  if (!line_) return;
  judge();
  line_->flush(queue_);
}

void Cable::on_time(Instant now) {
  if (line_) line_->on_time(now);
  if (now >= down_at_) {
    switch_port().link_down();  // first: what fails for lack of memory is tried again
    down_at_ = kNever;
  }
  if (is_due_) judge();
}

Instant Cable::next_deadline() const {
  Instant next = std::min(down_at_, line_ ? line_->next_deadline() : kNever);
  if (is_due_ && line_) next = std::min(next, may_go_up_);
  return next;
}

// ---- The link ----

void Cable::on_link_word(LinkWord word) {
  down_at_ = kNever;
  if (word != LinkWord::kUp) must_go_down_ = true;
  heard_ = word;
  is_due_ = true;
}

void Cable::tell(LinkWord word) {
  if (!line_ || told_ == word) return;
  line_->say(word);
  told_ = word;
  is_silent_ = false;
}

void Cable::judge() {
  if (!is_due_ || !line_) return;
  subnet::Port& port = switch_port();
  // The port at the other end went down, or this one did, by an order: both train anew, and what
  // was said before does not count.
  if (must_go_down_) {
    port.link_down();
    must_go_down_ = false;
    told_.reset();
  } else if (port.is_down() && told_ == LinkWord::kUp) {
    heard_.reset();
  }
  const bool is_wanted = heard_ && heard_ != LinkWord::kDown;
  if (port.is_down() && !port.is_disabled() && is_wanted) {
    if (clock_.now < may_go_up_) return;  // stays due
    // The port at the other end may have been up all the time, and would stay so.
    if (is_silent_) tell(LinkWord::kTraining);
    port.link_up(port.abilities().speed);
    may_go_up_ = clock_.now + kShortestUp;
  }
  // A port that sleeps hears a partner that looks for it, but looks for none.
  const bool looks = !port.is_disabled() && !port.is_asleep();
  tell(!port.is_down() ? LinkWord::kUp : looks ? LinkWord::kTraining : LinkWord::kDown);
  is_due_ = false;  // last: what fails for lack of memory is tried again
}

// ---- Packets ----

void Cable::send(subnet::Packet packet) {
  const bool is_management =
      wire::roce::header_at<wire::infiniband::LocalRouteHeader>(packet).lane() ==
      wire::infiniband::kManagementLane;
  const bool may_go = line_ && !switch_port().is_down() && packet.cables < kMostCables;
  if (!may_go || !queue_.put(is_management, std::move(packet)))
    ++switch_port().totals().send_discards;
}

void Cable::on_packet(std::span<const std::byte> packet, std::uint8_t cables) {
  if (switch_port().is_down() || cables > kMostCables) {
    ++switch_port().totals().receive_errors;
    return;
  }
  subnet::Packet copy(packet.begin(), packet.end());
  copy.cables = cables;
  subnet_.the_switch().on_packet(number_, std::move(copy));
}

}  // namespace paravane::cable
