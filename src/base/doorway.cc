#include "base/doorway.h"

#include <sys/epoll.h>

#include <utility>

#include "base/descriptor_limit.h"

namespace paravane {

Doorway::Doorway(EventLoop& loop, TimerQueue& timers, std::string name, OnClient on_client,
                 Clock clock, Accept accept)
    : loop_(loop),
      timers_(timers),
      name_(std::move(name)),
      on_client_(std::move(on_client)),
      clock_(std::move(clock)),
      accept_(std::move(accept)) {}

Doorway::~Doorway() {
  unwatch();
}

Status Doorway::open(UniqueFd listener) {
  unwatch();
  listener_ = std::move(listener);
  return listener_ ? watch() : Status{};
}

Status Doorway::hold(bool held) {
  unwatch();
  return held || !listener_ ? Status{} : watch();
}

void Doorway::keep_reserve(OnClient refuse) {
  refuse_ = std::move(refuse);
  reserve_.take();
}

Status Doorway::watch() {
  return loop_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t /*events*/) { on_knock(); });
}

void Doorway::unwatch() {
  if (listener_) loop_.unwatch(listener_.get());
  timers_.cancel(std::exchange(again_, TimerId::kNone));
}

void Doorway::on_knock() {
  Result<std::optional<UniqueFd>> client = accept_(listener_.get());
  if (!client) {
    tell_those_who_wait();
    return pause(client.error());
  }
  if (refuse_) reserve_.take();
  if (*client) on_client_(std::move(**client));
}

// The descriptor in reserve becomes theirs, one after the other.
void Doorway::tell_those_who_wait() {
  for (int told = 0; refuse_ && told < kToldAtOnce; ++told) {
    if (!reserve_.give_up()) return;
    Result<std::optional<UniqueFd>> client = accept_(listener_.get());
    const bool is_there = client && *client;
    const bool has_more = reserve_.take();  // there are descriptors again
    if (is_there) (has_more ? on_client_ : refuse_)(std::move(**client));
    reserve_.take();
    if (!is_there) return;
  }
}

void Doorway::pause(const Error& error) {
  const Instant now = clock_();
  const bool at_limit = is_out_of_descriptors(error);
  complaints_.warn(now, "{}: cannot accept a connection: {}{}{}", name_, error.message,
                   at_limit ? ". " : "", at_limit ? kRaiseDescriptorLimit : "");
  // What needs memory comes first: a door that was left alone would never be looked at again.
  const TimerId again = timers_.set(now + kPause, [this](Instant /*now*/) {
    again_ = TimerId::kNone;
    if (const Status heard = loop_.change(listener_.get(), EPOLLIN); !heard) {
      pause(heard.error());
    }
  });
  timers_.cancel(std::exchange(again_, again));
  static_cast<void>(loop_.change(listener_.get(), 0));
}

}  // namespace paravane
