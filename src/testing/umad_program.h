// UmadProgram: the other end of a control line of the umad door, as libibumad of ours has it, and
// as a hostile program may use it. It never waits: `step` has the daemon's side do what it can.
//
// Owner thread only.

#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "umad/door_protocol.h"

namespace paravane::fake {

using SocketPair = std::pair<UniqueFd, UniqueFd>;
inline SocketPair umad_sockets() {
  std::array<int, 2> ends{-1, -1};
  (void)::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data());
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// What has been received: nullopt: nothing; empty: the other end is closed.
struct UmadHeard {
  std::vector<std::byte> bytes;
  UniqueFd descriptor;
};
inline std::optional<UmadHeard> hear(const UniqueFd& socket) {
  UmadHeard heard;
  heard.bytes.resize(sizeof(umad::MadPart) + umad::kMostPart + 1);
  iovec part{.iov_base = heard.bytes.data(), .iov_len = heard.bytes.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && errno == EAGAIN) return std::nullopt;
  heard.bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (const cmsghdr* header = CMSG_FIRSTHDR(&message);
      header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    heard.descriptor = UniqueFd(descriptor);
  }
  return heard;
}
inline bool is_closed(const UniqueFd& socket) {
  const auto heard = hear(socket);
  return heard && heard->bytes.empty();
}
// False: it is closed, or has no room.
inline bool say(const UniqueFd& socket, std::span<const std::byte> bytes) {
  return ::send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

inline umad::Name umad_name(std::string_view text) {
  umad::Name name{};
  std::copy_n(text.begin(), std::min(text.size(), name.size()), name.begin());
  return name;
}
inline umad::Question question_of(umad::Ask ask, std::string_view adapter = {},
                                  std::uint32_t port = 1, std::uint32_t line = 0) {
  umad::Question question;
  question.ask.set(static_cast<std::uint32_t>(ask));
  question.adapter = umad_name(adapter);
  question.port.set(port);
  question.line.set(line);
  return question;
}
inline umad::AgentWish umad_wish(std::uint8_t a_class,
                                 std::initializer_list<std::uint8_t> methods = {}) {
  umad::AgentWish wish;
  wish.management_class = a_class;
  wish.class_version = 1;
  for (const std::uint8_t one : methods) {
    Le32& word = wish.methods[one / 32];
    word.set(word.get() | (std::uint32_t{1} << (one % 32)));
  }
  return wish;
}
inline umad::Question agent_question(umad::Ask ask, std::uint32_t line, std::uint32_t agent,
                                     const umad::AgentWish& wish = {}) {
  umad::Question question = question_of(ask, {}, 1, line);
  question.agent.set(agent);
  question.wish = wish;
  return question;
}

inline std::vector<std::byte> mad_message(const umad::MadPart& part,
                                          std::span<const std::byte> bytes) {
  std::vector<std::byte> message(sizeof part + bytes.size());
  std::memcpy(message.data(), &part, sizeof part);
  std::copy(bytes.begin(), bytes.end(), message.begin() + sizeof part);
  return message;
}
// A whole MAD of an agent to a LID.
inline std::vector<std::byte> mad_message(std::uint32_t agent, std::uint16_t lid,
                                          std::span<const std::byte> mad,
                                          std::uint32_t timeout_ms = 0) {
  umad::MadPart part;
  part.agent.set(agent);
  part.timeout_ms.set(timeout_ms);
  part.total.set(static_cast<std::uint32_t>(mad.size()));
  part.address.lid.set(lid);
  part.address.qp.set(1);
  return mad_message(part, mad);
}
struct HeardPart {
  umad::MadPart part;
  std::vector<std::byte> bytes;
};
inline std::optional<HeardPart> hear_part(const UniqueFd& socket) {
  const auto heard = hear(socket);
  if (!heard || heard->bytes.size() < sizeof(umad::MadPart)) return std::nullopt;
  HeardPart part;
  std::memcpy(&part.part, heard->bytes.data(), sizeof part.part);
  part.bytes.assign(heard->bytes.begin() + sizeof part.part, heard->bytes.end());
  return part;
}

class UmadProgram {
 public:
  UmadProgram(UniqueFd control, std::function<void()> step)
      : control_(std::move(control)), step_(std::move(step)) {}

  const UniqueFd& control() const { return control_; }
  bool tell(std::span<const std::byte> bytes) {
    const bool said = say(control_, bytes);
    step_();
    return said;
  }
  // nullopt: no answer; the line may be closed.
  std::optional<UmadHeard> ask(const umad::Question& question) {
    if (!tell(std::as_bytes(std::span(&question, 1)))) return std::nullopt;
    auto heard = hear(control_);
    if (heard && heard->bytes.size() < sizeof(umad::Answer)) return std::nullopt;
    return heard;
  }
  std::optional<umad::Outcome> outcome(const umad::Question& question) {
    const auto heard = ask(question);
    if (!heard) return std::nullopt;
    umad::Answer answer;
    std::memcpy(&answer, heard->bytes.data(), sizeof answer);
    return static_cast<umad::Outcome>(answer.outcome.get());
  }
  // nullopt: another outcome than kDone, or not as long as they are.
  template <typename Facts>
  std::optional<Facts> facts(const umad::Question& question) {
    const auto heard = ask(question);
    Facts facts;
    if (!heard || heard->bytes.size() != sizeof(umad::Answer) + sizeof facts) return std::nullopt;
    std::memcpy(&facts, heard->bytes.data() + sizeof(umad::Answer), sizeof facts);
    return facts;
  }
  // The program's end of a new MAD line; empty: it was refused.
  UniqueFd open(std::string_view adapter, std::uint32_t line, std::uint32_t port = 1) {
    auto heard = ask(question_of(umad::Ask::kOpen, adapter, port, line));
    return heard ? std::move(heard->descriptor) : UniqueFd();
  }
  void close() { control_.reset(); }

 private:
  UniqueFd control_;
  const std::function<void()> step_;
};

}  // namespace paravane::fake
