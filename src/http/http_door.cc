#include "http/http_door.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/descriptor_limit.h"
#include "base/memory_reserve.h"
#include "base/memory_shortage.h"
#include "http/http_connection.h"
#include "http/refusal.h"

namespace paravane::http {
namespace {

// Of a loop that does not wait.
constexpr auto kPause = std::chrono::milliseconds(100);

}  // namespace

Result<std::unique_ptr<HttpDoor>> HttpDoor::open(HttpDoorConfig config, UniqueFd listener,
                                                 api::RequestHandler& handler) {
  auto loop = EventLoop::create();
  if (!loop) return std::unexpected(loop.error());
  std::unique_ptr<HttpDoor> door(new HttpDoor(std::move(config), std::move(*loop), handler));
  if (Status opened = door->doorway_.open(std::move(listener)); !opened) {
    return std::unexpected(opened.error());
  }
  door->threads_.emplace_back([d = door.get()] { d->keep_door(); });
  for (unsigned i = 0; i < door->config_.threads; ++i) {
    door->threads_.emplace_back([d = door.get()] { d->serve(); });
  }
  return door;
}

HttpDoor::HttpDoor(HttpDoorConfig config, std::unique_ptr<EventLoop> loop,
                   api::RequestHandler& handler)
    : config_(std::move(config)),
      handler_(handler),
      without_descriptors_(make_refusal(api::error_response(
          {.code = model::ApiErrorCode::kBusy,
           .message = "paravaned has no free file descriptor for this connection",
           .remedy = std::string(kRaiseDescriptorLimit)}))),
      without_memory_(make_refusal(api::error_response(model::no_memory()))),
      loop_(std::move(loop)),
      lobby_(
          *loop_,
          [this](UniqueFd client, std::string bytes) {
            hand_over({.client = std::move(client), .bytes = std::move(bytes)});
          },
          [this](UniqueFd client) { tell_and_close(std::move(client), without_memory_); }),
      doorway_(*loop_, timers_, config_.name,
               [this](UniqueFd client) { take_in(std::move(client)); }) {
  doorway_.keep_reserve(
      [this](UniqueFd client) { tell_and_close(std::move(client), without_descriptors_); });
}

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
    keep_held(now);
    lobby_.drop_late(now);
    timers_.run_due(now);
    const Instant next = std::min(lobby_.next_deadline(), timers_.next_deadline());
    std::optional<Duration> wait;
    if (next != kNever) wait = std::max(next - now, Duration::zero());
    if (const Status looked = look(wait); !looked) {
      complaints_.error(now, "{}: {}", config_.name, looked.error().message);
      std::this_thread::sleep_for(kPause);
    }
  }
}

void HttpDoor::pause() {
  paused_.store(true);
  loop_->wake();
}

void HttpDoor::resume() {
  paused_.store(false);
  loop_->wake();
}

void HttpDoor::keep_held(Instant now) {
  const bool wanted = paused_.load();
  if (wanted == held_.load()) return;
  if (const Status held = doorway_.hold(wanted); !held) {
    complaints_.error(now, "{}: {}", config_.name, held.error().message);
    return;
  }
  held_.store(wanted);
}

Status HttpDoor::look(std::optional<Duration> wait) {
  Status looked;
  const bool had_memory = runs_in_memory([&] {
    if (const Result<int> ran = loop_->poll(wait); !ran) looked = std::unexpected(ran.error());
  });
  return had_memory ? looked : fail(Errc::kResourceExhausted, "no memory");
}

void HttpDoor::take_in(UniqueFd client) {
  const Instant now = std::chrono::steady_clock::now();
  if (const Status admitted = lobby_.admit(std::move(client), now); !admitted) {
    complaints_.warn(now, "{}: cannot accept a connection: {}", config_.name,
                     admitted.error().message);
  }
}

void HttpDoor::hand_over(ApiRequest request) {
  ++open_requests_;
  if (runs_in_memory([&] { queue_.put(std::move(request)); })) return;
  --open_requests_;
  tell_and_close(std::move(request.client), without_memory_);
}

void HttpDoor::serve() {
  pthread_setname_np(pthread_self(), config_.name.c_str());
  while (auto request = queue_.take()) {
    if (!has_memory_reserve()) {  // what is under way needs what there is
      tell_and_close(std::move(request->client), without_memory_);
    } else {
      serve_http(std::move(request->client), request->bytes, handler_, without_memory_);
    }
    --open_requests_;
  }
}

}  // namespace paravane::http
