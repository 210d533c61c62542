// Mailbox: carries messages from other threads to the owner thread, which owns the data that the
// messages change. A message is a function that the owner thread runs.
//
// post() does not wait. ask() waits for the function's result. If the function has not started
// within a time limit, ask() gives up and the function will never run, so the caller always knows
// whether it ran.
//
// If a message runs out of memory, only that message fails, and later messages still run. If the
// message came from ask(), the caller receives the exception. deliver() returns the number of
// failed messages.

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/memory_shortage.h"
#include "base/mutex.h"

namespace paravane {

class Mailbox {
 public:
  using Message = std::function<void()>;

  // `wake` is called after each post, from the poster's thread.
  explicit Mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Any thread. False: the mailbox is closed, and the message was dropped. Throws std::bad_alloc.
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

  // Any thread but the owner's. nullopt: the mailbox is closed, or the function did not start
  // within `limit`; it has not run then and never will. A function that has started is waited for
  // without a limit. An exception of the function is thrown to the caller.
  template <typename Function>
  auto ask(Function function, std::chrono::milliseconds limit)
      -> std::optional<std::invoke_result_t<Function>> {
    using Answer = std::invoke_result_t<Function>;
    // Shared: the asker may give up before the owner answers.
    auto slot = std::make_shared<Slot<Answer>>();
    const bool posted = post([this, slot, function = std::move(function)]() mutable {
      if (!slot->begin()) return;
      try {
        slot->set(function());
      } catch (...) {
        ++failed_;
        slot->set_failure(std::current_exception());
      }
    });
    return posted ? slot->wait(limit) : std::nullopt;
  }

  // Owner thread: runs all waiting messages. Without a message it costs one atomic load. Returns
  // how many messages, asked or posted, failed for lack of memory.
  std::size_t deliver() {
    if (!waiting_.load(std::memory_order_acquire)) return 0;
    std::vector<Message> batch;
    {
      const MutexLock lock(mutex_);
      batch.swap(messages_);
      waiting_.store(false, std::memory_order_relaxed);
    }
    failed_ = 0;
    for (const Message& message : batch) {
      if (!runs_in_memory(message)) ++failed_;
    }
    return failed_;
  }

  // Owner thread: whether messages wait. Check it before going to sleep, because the wake-up for a
  // message may have been consumed while the sockets were polled.
  bool waiting() const { return waiting_.load(std::memory_order_acquire); }

  // Drops all later messages. Messages that are already waiting can still be delivered.
  void close() {
    const MutexLock lock(mutex_);
    closed_ = true;
  }

 private:
  template <typename Answer>
  class Slot {
   public:
    // ---- The owner ----
    // False: called off.
    bool begin() {
      const std::lock_guard lock(mutex_);
      if (called_off_) return false;
      begun_ = true;
      return true;
    }
    void set(Answer value) {
      {
        const std::lock_guard lock(mutex_);
        answer_.emplace(std::move(value));
      }
      answered_.notify_one();
    }

    void set_failure(std::exception_ptr failure) {
      {
        const std::lock_guard lock(mutex_);
        failure_ = std::move(failure);
      }
      answered_.notify_one();
    }

    // ---- The asker ----
    std::optional<Answer> wait(std::chrono::milliseconds limit) {
      std::unique_lock lock(mutex_);
      const auto is_done = [this] { return answer_.has_value() || failure_ != nullptr; };
      answered_.wait_for(lock, limit, is_done);
      called_off_ = !begun_;
      if (begun_) answered_.wait(lock, is_done);
      if (failure_) std::rethrow_exception(failure_);
      return std::move(answer_);
    }

   private:
    std::mutex mutex_;
    std::condition_variable answered_;
    std::optional<Answer> answer_;
    std::exception_ptr failure_;
    bool begun_ = false;
    bool called_off_ = false;
  };

  std::function<void()> wake_;
  std::atomic<bool> waiting_{false};
  std::size_t failed_ = 0;  // in the current batch; owner thread only
  Mutex mutex_;
  std::vector<Message> messages_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace paravane
