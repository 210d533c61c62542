// RequestQueue is the work source of a queue pair of a host service: what a guest's rings are for a
// guest's queue pair. Its owner bounds how much it posts.
//
// Owner thread only.

#pragma once

#include <deque>

#include "verbs/work_request.h"

namespace paravane::host_verbs {

class RequestQueue final : public verbs::WorkSource {
 public:
  void post_send(const verbs::SendRequest& request) { sends_.push_back(request); }
  void post_receive(const verbs::ReceiveRequest& request) { receives_.push_back(request); }

  Fetch peek_send(verbs::SendRequest& out) override {
    if (sends_.empty()) return Fetch::kEmpty;
    out = sends_.front();
    return Fetch::kTaken;
  }
  void pass_send() override { sends_.pop_front(); }
  Fetch take_receive(verbs::ReceiveRequest& out) override {
    if (receives_.empty()) return Fetch::kEmpty;
    out = receives_.front();
    receives_.pop_front();
    return Fetch::kTaken;
  }
  bool wait_for_receive() override { return !receives_.empty(); }
  // A queue pair of a service leaves RESET once, before anything is posted.
  void restart() override {}

 private:
  std::deque<verbs::SendRequest> sends_;
  std::deque<verbs::ReceiveRequest> receives_;
};

}  // namespace paravane::host_verbs
