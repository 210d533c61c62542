// Dialer obtains TCP sockets for the engine, the unprivileged process, which has no permission to
// create them. It requests each socket from the keeper, the privileged process, which sends a
// non-blocking descriptor or the reason why it refuses (keeper/socket_maker.h). A socket is either
// connected or listening.
//
// dial() and listen() may be called on any thread. The callback `done` is called exactly once, on
// the control thread, and must not block. It receives kIo if the dialer is destroyed. It also
// receives kIo if its request is older than kPatience when another socket is requested.
//
// dial_and_wait() and listen_and_wait() block, so they are for threads other than the control
// thread.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "privsep/process_link.h"

namespace paravane::privsep {

class Dialer {
 public:
  using Done = std::function<void(Result<UniqueFd>)>;
  static constexpr std::size_t kMost = 64;                      // requests under way
  static constexpr std::chrono::milliseconds kPatience{6'000};  // beyond the keeper's own

  // `send` sends a message to the keeper, from any thread.
  explicit Dialer(std::function<void(const Note&)> send) : send_(std::move(send)) {}
  ~Dialer() { close(); }
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  // `endpoint`: "192.0.2.1:28250" or "[2001:db8::1]:28250"; `source`: the address of this host to
  // connect from; empty: [cluster] address. Errors: kIo (with the reason), kInvalidArgument and
  // kBadState (the keeper refuses the address), kResourceExhausted.
  void dial(const std::string& endpoint, const Done& done, const std::string& source = {}) {
    ask(Note::Kind::kDial, source.empty() ? endpoint : endpoint + " " + source, done);
  }
  void listen(const std::string& endpoint, const Done& done) {
    ask(Note::Kind::kListen, endpoint, done);
  }
  // Connects from [cluster] address.
  Result<UniqueFd> dial_and_wait(const std::string& endpoint) {
    return ask_and_wait(Note::Kind::kDial, endpoint);
  }
  Result<UniqueFd> listen_and_wait(const std::string& endpoint) {
    return ask_and_wait(Note::Kind::kListen, endpoint);
  }

  // The keeper's message when it refuses a socket: "ID CAUSE reason".
  static std::string refusal(std::string_view id, const Error& error);
  // Control thread: the keeper's answer, "ID" with a socket or a refusal.
  void on_answer(const std::string& text, UniqueFd socket);
  // Fails all requests in progress and all later ones.
  void close();

 private:
  struct Pending {
    Done done;
    Instant deadline;
  };
  void ask(Note::Kind kind, const std::string& endpoint, const Done& done);
  Result<UniqueFd> ask_and_wait(Note::Kind kind, const std::string& endpoint);

  std::function<void(const Note&)> send_;
  Mutex mutex_;
  std::map<std::uint64_t, Pending> pending_ GUARDED_BY(mutex_);
  std::uint64_t next_id_ GUARDED_BY(mutex_) = 1;
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace paravane::privsep
