#include "umad/mad_line.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include "base/memory_shortage.h"
#include "wire/infiniband/mad.h"

namespace paravane::umad {
namespace {

using subnet::AgentId;
using subnet::AgentRefusal;
using subnet::SendRefusal;

constexpr unsigned kMostRetries = 64;
constexpr std::chrono::milliseconds kLongestWait = std::chrono::minutes(10);

subnet::MadAddress address_of(const MadAddress& from) {
  subnet::MadAddress address{.lid = from.lid.get(),
                             .qp = from.qp.get(),
                             .qkey = from.qkey.get(),
                             .level = static_cast<std::uint8_t>(from.level & 0x0F),
                             .path_bits = from.path_bits,
                             .partition_index = from.partition_index.get()};
  if (from.has_global != 0) {
    address.global = wire::infiniband::GlobalRoute{.destination = from.gid,
                                                   .flow_label = from.flow_label.get() & 0xF'FFFF,
                                                   .traffic_class = from.traffic_class,
                                                   .hop_limit = from.hop_limit};
  }
  return address;
}

MadAddress address_to(const subnet::MadAddress& address) {
  MadAddress to;
  to.qp.set(address.qp);
  to.qkey.set(address.qkey);
  to.lid.set(address.lid);
  to.level = address.level;
  to.path_bits = address.path_bits;
  to.partition_index.set(address.partition_index);
  if (address.global) {
    to.has_global = 1;
    to.gid = address.global->destination;
    to.hop_limit = address.global->hop_limit;
    to.traffic_class = address.global->traffic_class;
    to.flow_label.set(address.global->flow_label);
  }
  return to;
}

}  // namespace

MadLine::MadLine(UniqueFd socket, subnet::MadPort& port, EventLoop& loop, const TurnClock& clock,
                 std::function<void()> on_end, MessageBudget* budget)
    : socket_(std::move(socket)),
      port_(port),
      loop_(loop),
      clock_(clock),
      on_end_(std::move(on_end)),
      budget_(budget) {}

MadLine::~MadLine() {
  loop_.unwatch(socket_.get());
  for (const AgentId agent : agents_) {
    if (agent != AgentId::kNone) port_.unregister(agent);
  }
  if (is_manager_) port_.set_manager(false);
}

Status MadLine::watch() {
  return loop_.watch(socket_.get(), EPOLLIN, [this](std::uint32_t events) { on_ready(events); });
}

// ---- Agents ----

Outcome MadLine::register_agent(std::uint32_t number, const AgentWish& wish) {
  if (number >= agents_.size() || agents_[number] != AgentId::kNone) return Outcome::kBadWish;
  subnet::AgentWish wanted{.management_class = wish.management_class,
                           .class_version = wish.class_version,
                           .oui = wish.oui.get(),
                           .joins_segments = wish.rmpp_version != 0 && wish.user_rmpp == 0};
  for (std::size_t word = 0; word < wish.methods.size(); ++word)
    wanted.methods[word / 2] |= std::uint64_t{wish.methods[word].get()} << (word % 2 * 32);
  const auto made = port_.register_agent(wanted, *this);
  if (made) {
    agents_[number] = *made;
    return Outcome::kDone;
  }
  switch (made.error()) {
    case AgentRefusal::kBadWish: return Outcome::kBadWish;
    case AgentRefusal::kTaken: return Outcome::kTaken;
    case AgentRefusal::kNoRoom: break;
  }
  return Outcome::kNoRoom;
}

Outcome MadLine::unregister(std::uint32_t number) {
  if (number >= agents_.size() || agents_[number] == AgentId::kNone) return Outcome::kBadWish;
  port_.unregister(std::exchange(agents_[number], AgentId::kNone));
  return Outcome::kDone;
}

void MadLine::become_manager() {
  if (!std::exchange(is_manager_, true)) port_.set_manager(true);
}

std::uint32_t MadLine::number_of(AgentId agent) const {
  return static_cast<std::uint32_t>(std::ranges::find(agents_, agent) - agents_.begin());
}

// ---- From the program ----

void MadLine::on_ready(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) flush();
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
  for (unsigned i = 0; i < kMessagesPerWake; ++i) {
    if (budget_ != nullptr && !budget_->take()) return;
    if (!read_message()) return;
  }
}

bool MadLine::read_message() {
  std::array<std::byte, sizeof(MadPart) + kMostPart + 1> buffer;
  const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0 || !take(std::span(buffer).first(static_cast<std::size_t>(got)))) {
    on_end_();
    return false;
  }
  return true;
}

bool MadLine::take(std::span<const std::byte> message) {
  if (message.size() < sizeof(MadPart)) return false;
  MadPart part;
  std::memcpy(&part, message.data(), sizeof part);
  const std::span<const std::byte> bytes = message.subspan(sizeof part);
  const std::size_t total = part.total.get();
  const std::size_t offset = part.offset.get();
  const bool follows = offset == arrived_ && (offset == 0 || total == growing_total_);
  if (total == 0 || total > kMostMad || !follows || bytes.empty() ||
      bytes.size() > std::min(kMostPart, total - std::min(total, offset)))
    return false;
  if (bytes.size() == total)
    send_on(part, bytes);
  else
    grow(part, bytes);
  return true;
}

void MadLine::grow(const MadPart& part, std::span<const std::byte> bytes) {
  growing_total_ = part.total.get();
  arrived_ += bytes.size();
  const bool is_last = arrived_ == growing_total_;
  if (arrived_ == bytes.size()) {
    is_growing_lost_ = !runs_in_memory([this] { growing_.reserve(growing_total_); });
    if (is_growing_lost_) {
      tell_not_sent(part, bytes);
      throw std::bad_alloc();
    }
  }
  if (is_last) arrived_ = 0;
  if (is_growing_lost_) return;
  growing_.insert(growing_.end(), bytes.begin(), bytes.end());
  if (is_last) send_on(part, std::exchange(growing_, {}));
}

bool MadLine::has_agent(std::uint32_t number) const {
  return number < agents_.size() && agents_[number] != AgentId::kNone;
}

void MadLine::send_on(const MadPart& part, std::span<const std::byte> mad) {
  const std::uint32_t number = part.agent.get();
  if (!has_agent(number)) return;
  const auto timeout = std::min(std::chrono::milliseconds(part.timeout_ms.get()), kLongestWait);
  const unsigned retries = std::min(part.retries.get(), kMostRetries);
  bool is_sent = false;
  const bool had_memory = runs_in_memory([&] {
    const subnet::MadAddress to = address_of(part.address);
    is_sent = port_.send(agents_[number], to, mad, timeout, retries, clock_.now).has_value();
  });
  if (!is_sent) tell_not_sent(part, mad);
  if (!had_memory) throw std::bad_alloc();
}

// What the port refuses is as lost as if the subnet had lost it.
void MadLine::tell_not_sent(const MadPart& part, std::span<const std::byte> mad) {
  if (has_agent(part.agent.get()) && part.timeout_ms.get() != 0)
    queue(part.agent.get(), ETIMEDOUT, address_of(part.address), mad);
}

// ---- To the program ----

void MadLine::on_mad(AgentId agent, const subnet::MadAddress& from,
                     std::span<const std::byte> mad) {
  queue(number_of(agent), 0, from, mad);
}

// As a kernel does it: the header of what was sent, alone.
void MadLine::on_no_answer(AgentId agent, const subnet::MadAddress& to,
                           std::span<const std::byte> mad) {
  queue(number_of(agent), ETIMEDOUT, to, mad);
}

void MadLine::queue(std::uint32_t number, std::uint32_t status, const subnet::MadAddress& address,
                    std::span<const std::byte> mad) {
  if (status != 0) mad = mad.first(std::min(mad.size(), sizeof(wire::infiniband::MadHeader)));
  if (waiting_bytes_ + mad.size() > kMostWaiting) {
    ++dropped_;
    return;
  }
  // All of its parts or none.
  std::list<std::vector<std::byte>> messages;
  std::size_t message_bytes = 0;
  MadPart part;
  part.agent.set(number);
  part.status.set(status);
  part.total.set(static_cast<std::uint32_t>(mad.size()));
  part.address = address_to(address);
  for (std::size_t offset = 0; offset < mad.size(); offset += kMostPart) {
    const auto bytes = mad.subspan(offset, std::min(kMostPart, mad.size() - offset));
    part.offset.set(static_cast<std::uint32_t>(offset));
    std::vector<std::byte> message(sizeof part + bytes.size());
    std::memcpy(message.data(), &part, sizeof part);
    std::ranges::copy(bytes, message.begin() + sizeof part);
    message_bytes += message.size();
    messages.push_back(std::move(message));
  }
  waiting_bytes_ += message_bytes;
  waiting_.splice(waiting_.end(), messages);
  flush();
}

void MadLine::flush() {
  while (!waiting_.empty()) {
    const std::vector<std::byte>& message = waiting_.front();
    const ssize_t sent =
        ::send(socket_.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) {
      // A part that is lost would leave a MAD without it: the line ends, which is noticed by
      // reading, as is a program that has gone.
      ::shutdown(socket_.get(), SHUT_RDWR);
      waiting_.clear();
      waiting_bytes_ = 0;
      break;
    }
    waiting_bytes_ -= message.size();
    waiting_.pop_front();
  }
  const bool waits = !waiting_.empty();
  if (std::exchange(waits_for_room_, waits) == waits) return;
  (void)loop_.change(socket_.get(), waits ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

}  // namespace paravane::umad
