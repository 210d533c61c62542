#include "worker/mapping_ender.h"

#include <utility>

#include "base/memory_shortage.h"

namespace paravane::worker {

MappingEnder::MappingEnder() : thread_([this] { run(); }) {}

MappingEnder::~MappingEnder() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void MappingEnder::take(EndedMapping mapping) {
  bool waits = false;
  {
    const std::lock_guard lock(mutex_);
    waits = runs_in_memory([&] { waiting_.push_back(std::move(mapping)); });
  }
  if (waits) wake_.notify_one();  // or it comes down here, at once
}

void MappingEnder::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    EndedMapping mapping = std::move(waiting_.front());
    waiting_.pop_front();
    while (!ending_) {
      lock.unlock();
      const bool more = mapping.take_down_some();
      lock.lock();
      if (!more) break;
    }
  }
}

}  // namespace paravane::worker
