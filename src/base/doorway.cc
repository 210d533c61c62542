#include "base/doorway.h"

#include <sys/epoll.h>

#include <utility>

#include "base/log.h"

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

Status Doorway::watch() {
  return loop_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t /*events*/) { on_knock(); });
}

void Doorway::unwatch() {
  if (listener_) loop_.unwatch(listener_.get());
  timers_.cancel(std::exchange(again_, TimerId::kNone));
}

void Doorway::on_knock() {
  Result<std::optional<UniqueFd>> client = accept_(listener_.get());
  if (!client) return pause(client.error().message);
  if (*client) on_client_(std::move(**client));
}

void Doorway::pause(const std::string& problem) {
  const Instant now = clock_();
  if (const auto kept_back = complaints_.allow(now)) {
    log::warn("{}: cannot take a connection: {}{}", name_, problem, kept_back_note(*kept_back));
  }
  unwatch();
  again_ = timers_.set(now + kPause, [this](Instant /*now*/) {
    again_ = TimerId::kNone;
    if (const Status watched = watch(); !watched) pause(watched.error().message);
  });
}

}  // namespace paravane
