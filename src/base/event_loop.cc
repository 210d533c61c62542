#include "base/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

namespace paravane {
namespace {

std::unexpected<Error> system_failure(const char* what) {
  return fail_by_system(Errc::kIo, what, errno);
}

// epoll hands back 64 bits: the descriptor, and half of the watch's generation,
// by which an event that was queued for a former user of the number is known.
std::uint64_t pack(int fd, std::uint64_t generation) {
  return (generation << 32) | static_cast<std::uint32_t>(fd);
}

timespec to_timespec(Duration timeout) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  return {.tv_sec = seconds.count(), .tv_nsec = (timeout - seconds).count()};
}

}  // namespace

EventLoop::EventLoop(UniqueFd epoll, UniqueFd wake_event)
    : epoll_(std::move(epoll)), wake_event_(std::move(wake_event)) {}

Result<std::unique_ptr<EventLoop>> EventLoop::create() {
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return system_failure("epoll_create1");
  UniqueFd wake_event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_event) return system_failure("eventfd");
  const int wake_fd = wake_event.get();
  std::unique_ptr<EventLoop> loop(new EventLoop(std::move(epoll), std::move(wake_event)));
  const Status watched = loop->watch(wake_fd, EPOLLIN, [wake_fd](std::uint32_t) {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t n = ::read(wake_fd, &count, sizeof count);
  });
  if (!watched) return std::unexpected(watched.error());
  return loop;
}

// The kernel is told last: an event without a callback would be reported again and again.
Status EventLoop::watch(int fd, std::uint32_t events, Callback callback) {
  auto shared = std::make_shared<Callback>(std::move(callback));
  const auto [place, is_new] = watches_.try_emplace(fd);
  const std::uint64_t generation = next_generation_++ & 0xFFFFFFFF;
  epoll_event event{.events = events, .data = {.u64 = pack(fd, generation)}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    const int why = errno;
    if (is_new) watches_.erase(place);
    errno = why;
    return system_failure("epoll_ctl");
  }
  place->second = Watch{.generation = generation, .callback = std::move(shared)};
  return {};
}

Status EventLoop::change(int fd, std::uint32_t events) {
  const auto found = watches_.find(fd);
  if (found == watches_.end()) return fail(Errc::kNotFound, "descriptor is not watched");
  epoll_event event{.events = events, .data = {.u64 = pack(fd, found->second.generation)}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0) return system_failure("epoll_ctl");
  return {};
}

void EventLoop::unwatch(int fd) {
  if (watches_.erase(fd) == 0) return;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

Result<int> EventLoop::poll(std::optional<Duration> timeout) {
  std::array<epoll_event, 64> ready{};
  timespec wait{};
  if (timeout) wait = to_timespec(*timeout);
  const int count = epoll_pwait2(epoll_.get(), ready.data(), static_cast<int>(ready.size()),
                                 timeout ? &wait : nullptr, nullptr);
  if (count < 0) return errno == EINTR ? Result<int>(0) : system_failure("epoll_pwait2");
  int ran = 0;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = ready[static_cast<std::size_t>(i)];
    const int fd = static_cast<int>(event.data.u64 & 0xFFFFFFFF);
    const auto found = watches_.find(fd);
    if (found == watches_.end() || pack(fd, found->second.generation) != event.data.u64) continue;
    const std::shared_ptr<Callback> callback = found->second.callback;
    (*callback)(event.events);
    ++ran;
  }
  return ran;
}

Status EventLoop::wait(std::optional<Duration> timeout) {
  epoll_event ready{};
  timespec wait{};
  if (timeout) wait = to_timespec(*timeout);
  const int count = epoll_pwait2(epoll_.get(), &ready, 1, timeout ? &wait : nullptr, nullptr);
  if (count < 0 && errno != EINTR) return system_failure("epoll_pwait2");
  return {};
}

void EventLoop::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(wake_event_.get(), &one, sizeof one);
}

}  // namespace paravane
