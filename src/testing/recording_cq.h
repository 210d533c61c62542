// RecordingCq: a completion queue that a test reads; full after `capacity`.
// RecordingEvents: the asynchronous events that an adapter raised.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "verbs/completion.h"
#include "verbs/events.h"

namespace paravane::fake {

class RecordingCq final : public verbs::CompletionQueue {
 public:
  bool push(const verbs::Completion& completion, verbs::Reveal /*when*/) override {
    if (all_.size() >= capacity_) return false;
    all_.push_back(completion);
    return true;
  }

  void reveal() override {}

  void set_capacity(std::size_t capacity) { capacity_ = capacity; }

  // Since the start or the last clear().
  const std::vector<verbs::Completion>& all() const { return all_; }
  std::size_t size() const { return all_.size(); }
  const verbs::Completion& at(std::size_t index) const { return all_.at(index); }
  void clear() { all_.clear(); }

  std::vector<std::uint64_t> wr_ids() const {
    std::vector<std::uint64_t> ids;
    ids.reserve(all_.size());
    for (const verbs::Completion& completion : all_) ids.push_back(completion.wr_id);
    return ids;
  }
  std::vector<verbs::WcStatus> statuses() const {
    std::vector<verbs::WcStatus> statuses;
    statuses.reserve(all_.size());
    for (const verbs::Completion& completion : all_) statuses.push_back(completion.status);
    return statuses;
  }

 private:
  std::size_t capacity_ = std::numeric_limits<std::size_t>::max();
  std::vector<verbs::Completion> all_;
};

class RecordingEvents final : public verbs::QpEvents {
 public:
  using Event = std::pair<std::uint32_t, verbs::QpEvent>;

  void on_qp_event(std::uint32_t tag, verbs::QpEvent event) override {
    all_.emplace_back(tag, event);
  }
  const std::vector<Event>& all() const { return all_; }
  void clear() { all_.clear(); }

 private:
  std::vector<Event> all_;
};

}  // namespace paravane::fake
