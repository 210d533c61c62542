#include "worker/mapping_ender.h"

#include <utility>

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
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(mapping));
  }
  wake_.notify_one();
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
