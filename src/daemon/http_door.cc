#include "daemon/http_door.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "base/log.h"
#include "daemon/http_connection.h"

namespace paravane::daemon {
namespace {

constexpr auto kPause = std::chrono::milliseconds(100);

}  // namespace

Result<std::unique_ptr<HttpDoor>> HttpDoor::open(HttpDoorConfig config, UniqueFd listener,
                                                 control::RequestHandler& handler) {
  auto loop = EventLoop::create();
  if (!loop) return std::unexpected(loop.error());
  std::unique_ptr<HttpDoor> door(
      new HttpDoor(std::move(config), std::move(listener), std::move(*loop), handler));
  const auto take = [d = door.get()](std::uint32_t /*events*/) { d->take_in(); };
  if (Status watched = door->loop_->watch(door->listener_.get(), EPOLLIN, take); !watched) {
    return std::unexpected(watched.error());
  }
  door->threads_.emplace_back([d = door.get()] { d->keep_door(); });
  for (unsigned i = 0; i < door->config_.threads; ++i) {
    door->threads_.emplace_back([d = door.get()] { d->serve(); });
  }
  return door;
}

HttpDoor::HttpDoor(HttpDoorConfig config, UniqueFd listener, std::unique_ptr<EventLoop> loop,
                   control::RequestHandler& handler)
    : config_(std::move(config)),
      listener_(std::move(listener)),
      handler_(handler),
      loop_(std::move(loop)),
      lobby_(*loop_, [this](UniqueFd client, std::string bytes) {
        queue_.put({.client = std::move(client), .bytes = std::move(bytes)});
      }) {}

HttpDoor::~HttpDoor() {
  stopping_.store(true);
  loop_->wake();
  queue_.close();
  for (std::thread& thread : threads_) thread.join();
}

void HttpDoor::keep_door() {
  pthread_setname_np(pthread_self(), (config_.name + "-door").c_str());
  while (!stopping_.load()) {
    const Instant now = std::chrono::steady_clock::now();
    lobby_.drop_late(now);
    std::optional<Duration> wait;
    if (const Instant next = lobby_.next_deadline(); next != kNever) wait = next - now;
    if (const Result<int> ran = loop_->poll(wait); !ran) {
      log::error("{}: {}", config_.name, ran.error().message);
      std::this_thread::sleep_for(kPause);
    }
  }
}

void HttpDoor::take_in() {
  UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (client) {
    if (Status admitted = lobby_.admit(std::move(client), std::chrono::steady_clock::now());
        !admitted) {
      log::warn("{}: cannot take a connection: {}", config_.name, admitted.error().message);
    }
  } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
    log::warn("{}: cannot take a connection: {}", config_.name, std::strerror(errno));
    std::this_thread::sleep_for(kPause);  // out of descriptors
  }
}

void HttpDoor::serve() {
  pthread_setname_np(pthread_self(), config_.name.c_str());
  while (auto request = queue_.take()) {
    serve_http(std::move(request->client), request->bytes, handler_);
  }
}

}  // namespace paravane::daemon
