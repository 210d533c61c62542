// EventLoop: waits for file descriptors with epoll and runs a callback for each one that is ready.
//
// Callbacks run from poll(). A callback may watch and unwatch any descriptor, including its own. If
// a descriptor is unwatched while other callbacks of the same poll() run, its callback is no longer
// called.
//
// Owner thread only, except wake().

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

  // Level-triggered, unless `events` has EPOLLET. `fd` stays the caller's; unwatch() before closing
  // it.
  Status watch(int fd, std::uint32_t events, Callback callback);
  Status change(int fd, std::uint32_t events);
  void unwatch(int fd);

  // Waits at most `timeout` (zero: does not wait; nullopt: without limit) and runs the callbacks of
  // the descriptors that are ready. Returns how many ran.
  Result<int> poll(std::optional<Duration> timeout);

  // Waits in the same way but runs no callbacks; the next poll() runs them.
  Status wait(std::optional<Duration> timeout);

  // Makes the current or the next poll() return at once. Any thread.
  void wake();

  // A descriptor that is readable while poll() would run a callback. With it, one loop can watch
  // another.
  int fd() const { return epoll_.get(); }

 private:
  EventLoop(UniqueFd epoll, UniqueFd wake_event);

  struct Watch {
    std::uint64_t generation = 0;
    std::shared_ptr<Callback> callback;  // shared, because it may be dropped while it runs
  };

  UniqueFd epoll_;
  UniqueFd wake_event_;
  std::unordered_map<int, Watch> watches_;
  std::uint64_t next_generation_ = 1;
};

}  // namespace paravane
