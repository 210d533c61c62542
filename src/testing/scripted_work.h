// ScriptedWork: a queue pair's work source that a test fills.
//
// Like a guest's rings it keeps requests until they are taken, and it can be told
// to be absent or broken.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "verbs/work_request.h"

namespace paravane::fake {

class ScriptedWork final : public verbs::WorkSource {
 public:
  // Receives are taken from `shared`, which outlives this one; nullptr: from here.
  explicit ScriptedWork(ScriptedWork* shared = nullptr) : shared_(shared) {}

  void post_send(const verbs::SendRequest& request) { sends_.push_back(request); }
  void post_receive(const verbs::ReceiveRequest& request) { receives_.push_back(request); }

  // What peek_send() / take_receive() say instead of looking; nullopt: they look.
  void set_send_answer(std::optional<Fetch> answer) { send_answer_ = answer; }
  void set_receive_answer(std::optional<Fetch> answer) { receive_answer_ = answer; }

  std::size_t sends_left() const { return sends_.size(); }
  std::size_t receives_left() const { return receives_.size(); }
  // How often the engine looked, successfully or not.
  unsigned send_looks() const { return send_looks_; }
  unsigned receive_looks() const { return receive_looks_; }
  unsigned restarts() const { return restarts_; }

  Fetch peek_send(verbs::SendRequest& out) override {
    ++send_looks_;
    if (send_answer_) return *send_answer_;
    if (sends_.empty()) return Fetch::kEmpty;
    out = sends_.front();
    return Fetch::kTaken;
  }
  void pass_send() override { sends_.pop_front(); }
  Fetch take_receive(verbs::ReceiveRequest& out) override {
    if (shared_ != nullptr) return shared_->take_receive(out);
    ++receive_looks_;
    if (receive_answer_) return *receive_answer_;
    if (receives_.empty()) return Fetch::kEmpty;
    out = receives_.front();
    receives_.pop_front();
    return Fetch::kTaken;
  }
  bool wait_for_receive() override {
    if (shared_ != nullptr) return shared_->wait_for_receive();
    return receive_answer_ ? *receive_answer_ == Fetch::kTaken : !receives_.empty();
  }
  // The guest has zeroed its indices: what was posted before is gone.
  void restart() override {
    ++restarts_;
    sends_.clear();
    receives_.clear();
  }

 private:
  ScriptedWork* shared_;
  std::deque<verbs::SendRequest> sends_;
  std::deque<verbs::ReceiveRequest> receives_;
  std::optional<Fetch> send_answer_;
  std::optional<Fetch> receive_answer_;
  unsigned send_looks_ = 0;
  unsigned receive_looks_ = 0;
  unsigned restarts_ = 0;
};

}  // namespace paravane::fake
