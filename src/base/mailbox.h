// Mailbox: messages from other threads to one thread, to which everything that it
// changes belongs. ARCHITECTURE.md lists the other locks between our threads.
//
// A message is a function that the owner thread runs. ask() waits for what it
// returns, for a bounded time.

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace paravane {

class Mailbox {
 public:
  using Message = std::function<void()>;

  // `wake` is called after each post, from the poster's thread.
  explicit Mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Any thread. False: closed, the message is dropped.
  bool post(Message message) {
    {
      const MutexLock lock(mutex_);
      if (closed_) return false;
      messages_.push_back(std::move(message));
      waiting_.store(true, std::memory_order_release);
    }
    wake_();
    return true;
  }

  // Any thread but the owner's. nullopt: closed, or no answer within `limit`; the
  // message may still run then.
  template <typename Function>
  auto ask(Function function, std::chrono::milliseconds limit)
      -> std::optional<std::invoke_result_t<Function>> {
    using Answer = std::invoke_result_t<Function>;
    // Shared: the asker may give up before the owner answers.
    auto slot = std::make_shared<Slot<Answer>>();
    const bool posted = post([slot, function = std::move(function)]() mutable {
      slot->set(function());
      slot->answered.notify_one();
    });
    if (!posted) return std::nullopt;
    std::unique_lock lock(slot->mutex);
    slot->answered.wait_for(lock, limit, [&slot] { return slot->answer.has_value(); });
    return std::move(slot->answer);
  }

  // Owner thread: runs what is there. One relaxed load when there is nothing.
  void deliver() {
    if (!waiting_.load(std::memory_order_acquire)) return;
    std::vector<Message> batch;
    {
      const MutexLock lock(mutex_);
      batch.swap(messages_);
      waiting_.store(false, std::memory_order_relaxed);
    }
    for (const Message& message : batch) message();
  }

  // Owner thread: look before going to sleep; the wake for a message may have
  // been used up by a look at the sockets.
  bool waiting() const { return waiting_.load(std::memory_order_acquire); }

  // Later posts are dropped; what is there may still be delivered.
  void close() {
    const MutexLock lock(mutex_);
    closed_ = true;
  }

 private:
  template <typename Answer>
  struct Slot {
    std::mutex mutex;
    std::condition_variable answered;
    std::optional<Answer> answer;

    void set(Answer value) {
      const std::lock_guard lock(mutex);
      answer.emplace(std::move(value));
    }
  };

  std::function<void()> wake_;
  std::atomic<bool> waiting_{false};
  Mutex mutex_;
  std::vector<Message> messages_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace paravane
