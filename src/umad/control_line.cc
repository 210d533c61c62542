#include "umad/control_line.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/memory_shortage.h"
#include "umad/adapter_answers.h"

namespace paravane::umad {
namespace {

// Of all programs together.
constexpr std::size_t kMostLinesOfHost = 96;

template <typename Facts>
std::span<const std::byte> bytes_of(const Facts& facts) {
  return std::as_bytes(std::span(&facts, 1));
}

}  // namespace

ControlLine::ControlLine(UniqueFd socket, subnet::Subnet& subnet, Room& room, EventLoop& loop,
                         const TurnClock& clock, std::function<void()> on_end)
    : socket_(std::move(socket)),
      subnet_(subnet),
      room_(room),
      loop_(loop),
      clock_(clock),
      on_end_(std::move(on_end)) {}

ControlLine::~ControlLine() {
  loop_.unwatch(socket_.get());
  for (const auto& [number, one] : lines_) tell_dropped(*one.line);
  room_.lines -= lines_.size();
}

Status ControlLine::watch() {
  return loop_.watch(socket_.get(), EPOLLIN, [this](std::uint32_t) { on_ready(); });
}

void ControlLine::forget(const subnet::HostAdapter& adapter) {
  room_.lines -= std::erase_if(
      lines_, [&adapter](const auto& entry) { return entry.second.adapter == &adapter; });
}

void ControlLine::on_ready() {
  std::array<std::byte, sizeof(Question) + 1> buffer;
  const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  Question question;
  if (got != ssize_t{sizeof question}) {
    on_end_();
    return;
  }
  std::memcpy(&question, buffer.data(), sizeof question);
  bool stays = false;
  const bool had_memory = runs_in_memory([&] { stays = answer(question); });
  if (!had_memory) stays = say(Outcome::kNoRoom);  // nothing was done: an answer comes last
  if (!stays) on_end_();
  if (!had_memory) throw std::bad_alloc();
}

bool ControlLine::answer(const Question& question) {
  if (question.version.get() != kDoorVersion) return say(Outcome::kVersion);
  subnet::HostAdapter* adapter = subnet_.find(text_of(question.adapter));
  switch (static_cast<Ask>(question.ask.get())) {
    case Ask::kAdapters: {
      static_assert(subnet::Subnet::kMostAdapters <= kMostAdapters);
      AdapterNames names;
      std::uint32_t count = 0;
      for (const subnet::HostAdapter* one : subnet_.adapters())
        names.names[count++] = name_of(one->name());
      names.count.set(count);
      return say(Outcome::kDone, bytes_of(names));
    }
    case Ask::kAdapter:
      return adapter == nullptr ? say(Outcome::kNoAdapter)
                                : say(Outcome::kDone, bytes_of(facts_of(*adapter)));
    case Ask::kPort: {
      const std::uint32_t port = question.port.get();
      if (adapter == nullptr || port == 0 || port > adapter->ports())
        return say(Outcome::kNoAdapter);
      return say(Outcome::kDone,
                 bytes_of(facts_of(*adapter, static_cast<subnet::PortNumber>(port))));
    }
    case Ask::kIpoib: {
      IpoibFacts facts;
      facts.uplinks.set(room_.ipoib_uplinks);
      return say(Outcome::kDone, bytes_of(facts));
    }
    case Ask::kOpen: return open(question);
    case Ask::kRegister:
    case Ask::kUnregister:
    case Ask::kManager:
    case Ask::kClose: return say(about_line(question));
  }
  return false;
}

bool ControlLine::open(const Question& question) {
  subnet::HostAdapter* adapter = subnet_.find(text_of(question.adapter));
  const std::uint32_t port = question.port.get();
  const std::uint32_t number = question.line.get();
  if (adapter == nullptr || port == 0 || port > adapter->ports()) return say(Outcome::kNoAdapter);
  if (number >= kMostLines || lines_.contains(number)) return say(Outcome::kBadLine);
  if (room_.lines >= kMostLinesOfHost) return say(Outcome::kNoRoom);
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
    return say(Outcome::kNoRoom);
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  auto line = std::make_unique<MadLine>(
      std::move(ours), adapter->mads(static_cast<subnet::PortNumber>(port)), loop_, clock_,
      [this, number] { close(number); }, &budget_);
  if (!line->watch()) return say(Outcome::kNoRoom);
  lines_.emplace(number, OpenLine{.line = std::move(line), .adapter = adapter});
  ++room_.lines;
  return say(Outcome::kDone, {}, theirs.get());
}

Outcome ControlLine::about_line(const Question& question) {
  const auto found = lines_.find(question.line.get());
  if (found == lines_.end()) return Outcome::kBadLine;
  MadLine& line = *found->second.line;
  const auto ask = static_cast<Ask>(question.ask.get());
  if (ask == Ask::kRegister) return line.register_agent(question.agent.get(), question.wish);
  if (ask == Ask::kUnregister) return line.unregister(question.agent.get());
  if (ask == Ask::kManager)
    line.become_manager();
  else
    close(found->first);
  return Outcome::kDone;
}

void ControlLine::close(std::uint32_t line) {
  const auto found = lines_.find(line);
  if (found == lines_.end()) return;
  tell_dropped(*found->second.line);
  lines_.erase(found);
  --room_.lines;
}

void ControlLine::tell_dropped(const MadLine& line) {
  if (line.dropped() == 0) return;
  room_.log.warn(clock_.now, "umad door: {} datagrams were dropped as their program did not read",
                 line.dropped());
}

bool ControlLine::say(Outcome outcome, std::span<const std::byte> facts, int descriptor) {
  Answer answer;
  answer.outcome.set(static_cast<std::uint32_t>(outcome));
  std::array<iovec, 2> parts = {
      iovec{.iov_base = &answer, .iov_len = sizeof answer},
      iovec{.iov_base = const_cast<std::byte*>(facts.data()), .iov_len = facts.size()}};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = facts.empty() ? 1 : 2;
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  // A program that asks and does not read its answers is not one of the library's.
  return ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

}  // namespace paravane::umad
