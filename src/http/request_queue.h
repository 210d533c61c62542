// RequestQueue passes complete HTTP requests from the thread that accepts clients to the threads
// that handle requests. It is bounded in number and bytes.
//
// Any thread.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/unique_fd.h"

namespace paravane::http {

struct ApiRequest {
  UniqueFd client;
  std::string bytes;
};

class RequestQueue {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;

  // Waits while the queue is full; meanwhile the door accepts no clients, and they wait in the
  // socket's backlog. After close(), the request is dropped. If memory runs out, `request` is not
  // changed.
  void put(ApiRequest&& request) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock,
                    [this] { return closed_ || (requests_.size() < kMost && held_ < kMostBytes); });
      if (closed_) return;
      held_ += request.bytes.size();
      requests_.push_back(std::move(request));
    }
    changed_.notify_all();
  }

  // Waits for a request. nullopt: the queue is closed and empty.
  std::optional<ApiRequest> take() {
    std::optional<ApiRequest> request;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closed_ || !requests_.empty(); });
      if (requests_.empty()) return std::nullopt;
      request = std::move(requests_.front());
      requests_.pop_front();
      held_ -= request->bytes.size();
    }
    changed_.notify_all();
    return request;
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;  // for room, for requests, or closed
  std::deque<ApiRequest> requests_;
  std::size_t held_ = 0;  // bytes of all of them
  bool closed_ = false;
};

}  // namespace paravane::http
