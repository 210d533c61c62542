// Mailbox: messages from other threads to one thread, which owns everything that they change.
// ARCHITECTURE.md lists the other locks between threads.
//
// A message is a function that the owner thread runs. ask() waits for its result. It waits a
// bounded time for the function to start; after that the function will not run, so the caller
// always knows whether it ran. A message that fails for lack of memory ends there: the caller of
// ask() gets the exception, a posted message is counted (deliver()), and later messages still run.

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

  // Any thread. False: closed, the message is dropped. Throws std::bad_alloc.
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

  // Any thread but the owner's. nullopt: closed, or not begun within `limit`; the function
  // has not run then and never will. One that has begun is waited for. What it throws is thrown
  // here.
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

  // Owner thread: runs what is there. One relaxed load when there is nothing. Returns for how many
  // there was no memory, asked or posted.
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
  std::size_t failed_ = 0;  // of the batch; of the owner thread
  Mutex mutex_;
  std::vector<Message> messages_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace paravane
