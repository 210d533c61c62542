// NbdProgram: a program of the host at a served device's socket, as a correct client of NBD speaks,
// and as a hostile one may. It never waits: `step` has the server's side do what it can.
//
// What the server has not said comes as zeros. Owner thread only.

#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "nbd/protocol.h"

namespace paravane::fake {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of_text(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

template <typename... Parts>
Bytes joined(const Parts&... parts) {
  Bytes all;
  const auto add = [&all](const auto& part) {
    const auto bytes = std::as_bytes(std::span(&part, 1));
    all.insert(all.end(), bytes.begin(), bytes.end());
  };
  (add(parts), ...);
  return all;
}

inline Bytes operator+(Bytes one, const Bytes& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

// The data of the options INFO and GO.
inline Bytes query_of(std::string_view name, std::vector<nbd::Information> wanted) {
  Bytes data = joined(Be32(static_cast<std::uint32_t>(name.size()))) + bytes_of_text(name) +
               joined(Be16(static_cast<std::uint16_t>(wanted.size())));
  for (const nbd::Information one : wanted)
    data = data + joined(Be16(static_cast<std::uint16_t>(one)));
  return data;
}

inline Bytes option_of(nbd::Option option, const Bytes& data = {}) {
  return joined(nbd::OptionHeader{.magic = Be64(nbd::kOptionMagic),
                                  .option = Be32(static_cast<std::uint32_t>(option)),
                                  .length = Be32(static_cast<std::uint32_t>(data.size()))}) +
         data;
}

inline Bytes request_of(nbd::Command command, std::uint64_t handle, std::uint64_t offset,
                        std::uint32_t length, std::uint16_t flags = 0) {
  return joined(nbd::RequestHeader{.flags = Be16(flags),
                                   .command = Be16(static_cast<std::uint16_t>(command)),
                                   .handle = Be64(handle),
                                   .offset = Be64(offset),
                                   .length = Be32(length)});
}

struct OptionAnswer {
  std::uint32_t option = 0;
  nbd::OptionReply type{};
  Bytes data{};

  std::string text() const { return {reinterpret_cast<const char*>(data.data()), data.size()}; }
};

struct NbdReply {
  bool is_structured = false;
  std::uint64_t handle = 0;
  nbd::ReplyError error{};
  std::string message{};
  std::uint64_t offset = 0;  // of a structured reply's payload
  Bytes payload{};
};

class NbdProgram {
 public:
  // Connects to a listening socket.
  NbdProgram(int listener, std::function<void()> step) : step_(std::move(step)) {
    sockaddr_un name{};
    socklen_t bytes = sizeof name;
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&name), &bytes);
    socket_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&name), bytes);
    step_();
  }

  int fd() const { return socket_.get(); }
  void close() {
    socket_.reset();
    step_();
  }
  void shut_down_sending() {
    ::shutdown(socket_.get(), SHUT_WR);
    step_();
  }

  // ---- Bytes ----

  // As many as the socket takes while the server goes on; returns how many.
  std::size_t send(std::span<const std::byte> bytes) {
    std::size_t sent = 0;
    for (int idle = 0; sent < bytes.size() && idle < 3;) {
      const ssize_t now = ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent,
                                 MSG_DONTWAIT | MSG_NOSIGNAL);
      idle = now > 0 ? 0 : idle + 1;
      sent += now > 0 ? static_cast<std::size_t>(now) : 0;
      step_();
    }
    return sent;
  }
  // What the server has sent, and has not been taken yet.
  std::size_t waiting() {
    read();
    return in_.size();
  }
  Bytes take_bytes(std::size_t count) {
    read();
    const std::size_t there = std::min(count, in_.size());
    Bytes taken(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(there));
    in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(there));
    taken.resize(count);
    return taken;
  }
  template <typename T>
  T take() {
    std::array<std::byte, sizeof(T)> bytes{};
    std::ranges::copy(take_bytes(sizeof(T)), bytes.begin());
    return std::bit_cast<T>(bytes);
  }
  // Whether the server has ended the connection, and all that it said was taken.
  bool is_disconnected() {
    read();
    return has_ended_ && in_.empty();
  }

  // ---- The handshake ----

  nbd::Greeting hello(std::uint32_t flags = nbd::kFixedNewstyle | nbd::kNoZeroes) {
    const auto greeting = take<nbd::Greeting>();
    send(joined(Be32(flags)));
    return greeting;
  }
  void say(nbd::Option option, const Bytes& data = {}) { send(option_of(option, data)); }
  OptionAnswer take_answer() {
    const auto header = take<nbd::OptionReplyHeader>();
    if (header.magic.get() != nbd::kOptionReplyMagic) return {};
    return {header.option.get(), static_cast<nbd::OptionReply>(header.type.get()),
            take_bytes(header.length.get())};
  }
  // All answers to one option.
  std::vector<OptionAnswer> ask(nbd::Option option, const Bytes& data = {}) {
    say(option, data);
    std::vector<OptionAnswer> answers;
    while (waiting() >= sizeof(nbd::OptionReplyHeader)) answers.push_back(take_answer());
    return answers;
  }
  // As QEMU does it. False: the server did not say yes.
  bool enter(bool is_structured = true) {
    hello();
    if (is_structured) ask(nbd::Option::kStructuredReply);
    const auto answers = ask(nbd::Option::kGo, query_of("", {nbd::Information::kBlockSize}));
    return !answers.empty() && answers.back().type == nbd::OptionReply::kAck;
  }

  // ---- Transmission ----

  void request(nbd::Command command, std::uint64_t handle, std::uint64_t offset,
               std::uint32_t length, std::uint16_t flags = 0) {
    send(request_of(command, handle, offset, length, flags));
  }
  void write(std::uint64_t handle, std::uint64_t offset, const Bytes& payload,
             std::uint16_t flags = 0) {
    send(request_of(nbd::Command::kWrite, handle, offset,
                    static_cast<std::uint32_t>(payload.size()), flags) +
         payload);
  }
  // `payload_bytes`: of a simple reply to a read that succeeds.
  NbdReply take_reply(std::size_t payload_bytes = 0) {
    const auto magic = take<Be32>().get();
    NbdReply reply;
    if (magic == nbd::kSimpleReplyMagic) {
      reply.error = static_cast<nbd::ReplyError>(take<Be32>().get());
      reply.handle = take<Be64>().get();
      if (reply.error == nbd::ReplyError::kNone) reply.payload = take_bytes(payload_bytes);
    } else if (magic == nbd::kStructuredReplyMagic) {
      reply.is_structured = take<Be16>().get() == nbd::kChunkDone;
      take_chunk(reply);
    }
    return reply;
  }

 private:
  void take_chunk(NbdReply& reply) {
    const auto type = static_cast<nbd::ChunkType>(take<Be16>().get());
    reply.handle = take<Be64>().get();
    const std::uint32_t length = take<Be32>().get();
    if (type == nbd::ChunkType::kOffsetData) {
      reply.offset = take<Be64>().get();
      reply.payload = take_bytes(length - sizeof(Be64));
    } else if (type == nbd::ChunkType::kError) {
      reply.error = static_cast<nbd::ReplyError>(take<Be32>().get());
      const Bytes text = take_bytes(take<Be16>().get());
      reply.message = {reinterpret_cast<const char*>(text.data()), text.size()};
    }
  }

  void read() {
    step_();
    std::array<std::byte, 65536> bytes;
    for (;;) {
      const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN)) has_ended_ = true;
      if (got <= 0) return;
      in_.insert(in_.end(), bytes.begin(), bytes.begin() + got);
      step_();
    }
  }

  std::function<void()> step_;
  UniqueFd socket_;
  Bytes in_;
  bool has_ended_ = false;
};

}  // namespace paravane::fake
