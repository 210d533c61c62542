// EventLoop: epoll, with a callback per file descriptor.
//
// Owner thread only, except wake(). Callbacks run from poll(); they may watch
// and unwatch any descriptor, their own included: a callback whose descriptor
// was unwatched in the same round is not called.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/instant.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane {

class EventLoop {
 public:
  // `events` is the epoll mask that was seen (EPOLLIN, EPOLLOUT, EPOLLHUP...).
  using Callback = std::function<void(std::uint32_t events)>;

  static Result<std::unique_ptr<EventLoop>> create();

  // Level-triggered. `fd` stays the caller's; unwatch() before closing it.
  Status watch(int fd, std::uint32_t events, Callback callback);
  Status change(int fd, std::uint32_t events);
  void unwatch(int fd);

  // Waits at most `timeout` (zero: does not wait; nullopt: for ever) and runs
  // the callbacks of what is ready. Returns how many ran.
  Result<int> poll(std::optional<Duration> timeout);

  // Waits likewise, and runs nothing: the next poll() does.
  Status wait(std::optional<Duration> timeout);

  // Any thread: makes the current or the next poll() return at once.
  void wake();

  // Readable while poll() would run a callback: lets one loop watch another.
  int fd() const { return epoll_.get(); }

 private:
  EventLoop(UniqueFd epoll, UniqueFd wake_event);

  struct Watch {
    std::uint64_t generation = 0;
    std::shared_ptr<Callback> callback;  // shared: may be dropped while it runs
  };

  UniqueFd epoll_;
  UniqueFd wake_event_;
  std::unordered_map<int, Watch> watches_;
  std::uint64_t next_generation_ = 1;
};

}  // namespace paravane
