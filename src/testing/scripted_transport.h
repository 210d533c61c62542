// ScriptedTransport: looks at our own memory and carries nothing; answers each
// request as the test says, at once or when told to.
// ScriptedFabric: a fabric port on which every GID is reached along one path,
// unless the test says that nobody is there.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "verbs/fabric_port.h"
#include "verbs/queue_pair.h"
#include "verbs/request_check.h"
#include "verbs/transport.h"

namespace paravane::fake {

class ScriptedTransport final : public verbs::Transport {
 public:
  explicit ScriptedTransport(std::string_view name = "scripted") : name_(name) {}

  // The answers to the next requests, in order; nullopt: carried until the test
  // calls QueuePair::on_outcome(). After the last one the answer is kDone.
  void answer(std::optional<verbs::Outcome> outcome) { answers_.push_back(outcome); }
  // From now on every request without an answer of its own gets this one.
  void answer_always(std::optional<verbs::Outcome> outcome) { default_answer_ = outcome; }

  // How many requests of a queue pair it carries at once.
  void set_depth(std::uint32_t depth) { depth_ = depth; }

  // wr_id of each request that was submitted, retries included.
  const std::vector<std::uint64_t>& submitted() const { return submitted_; }
  const std::vector<verbs::DatagramSource>& datagrams() const { return datagrams_; }
  // Of them, those that came as repeated.
  const std::vector<std::uint64_t>& submitted_again() const { return again_; }
  unsigned cancels() const { return cancels_; }

  std::string_view name() const override { return name_; }
  std::uint32_t depth() const override { return depth_; }
  std::optional<verbs::Outcome> submit(verbs::QueuePair& qp, const verbs::Path&,
                                       const verbs::SendRequest& request,
                                       verbs::Budget& budget) override {
    const verbs::Outcome gathered = gather(qp, request);
    if (gathered.kind != verbs::Outcome::Kind::kDone) return gathered;
    submitted_.push_back(request.wr_id);
    budget.bytes -= static_cast<std::int64_t>(request.sges.total_bytes());
    return next_answer();
  }
  std::optional<verbs::Outcome> submit_again(verbs::QueuePair& qp, const verbs::Path& path,
                                             const verbs::SendRequest& request,
                                             verbs::Budget& budget) override {
    again_.push_back(request.wr_id);
    return submit(qp, path, request, budget);
  }
  void cancel(verbs::QueuePair&) override { ++cancels_; }
  std::optional<verbs::Outcome> send_datagram(verbs::QueuePair& qp, const verbs::Path&,
                                              const verbs::DatagramSource& source,
                                              const verbs::SendRequest& request) override {
    const verbs::Outcome gathered = gather(qp, request);
    if (gathered.kind != verbs::Outcome::Kind::kDone) return gathered;
    submitted_.push_back(request.wr_id);
    datagrams_.push_back(source);
    return next_answer();
  }
  void send_copied_datagram(const verbs::Path&, const verbs::DatagramSource& source,
                            const verbs::SendRequest& request,
                            std::span<const std::byte>) override {
    submitted_.push_back(request.wr_id);
    datagrams_.push_back(source);
  }
  void poll(Instant, verbs::Budget&) override {}
  bool has_work() const override { return false; }

 private:
  // The first slice, as every transport does before a peer hears of a request.
  static verbs::Outcome gather(verbs::QueuePair& qp, const verbs::SendRequest& request) {
    ExtentList extents;
    const std::uint64_t length = std::min(request.sges.total_bytes(), verbs::kSliceBytes);
    return qp.gather(request, 0, length, verbs::local_need(request.opcode), extents);
  }

  std::optional<verbs::Outcome> next_answer() {
    if (answers_.empty()) return default_answer_;
    const std::optional<verbs::Outcome> answer = answers_.front();
    answers_.pop_front();
    return answer;
  }

  std::string_view name_;
  std::deque<std::optional<verbs::Outcome>> answers_;
  std::optional<verbs::Outcome> default_answer_ = verbs::Outcome{};
  std::vector<std::uint64_t> submitted_;
  std::vector<std::uint64_t> again_;
  std::vector<verbs::DatagramSource> datagrams_;
  unsigned cancels_ = 0;
  std::uint32_t depth_ = 1;
};

class ScriptedFabric final : public verbs::FabricPort {
 public:
  using Entry = std::pair<verbs::Gid, verbs::GidType>;

  explicit ScriptedFabric(verbs::Transport& transport) : transport_(transport) {}

  void refuse_announcements(bool refuse) { refuses_ = refuse; }
  void set_reachable(bool reachable) {
    reachable_ = reachable;
    ++epoch_;
  }
  const std::vector<Entry>& announced() const { return announced_; }
  const std::vector<Entry>& withdrawn() const { return withdrawn_; }
  unsigned finds() const { return finds_; }

  Status announce(const verbs::Gid& gid, verbs::GidType type) override {
    if (refuses_) return fail(Errc::kBadState, "gid: belongs to somebody else");
    announced_.emplace_back(gid, type);
    ++epoch_;
    return {};
  }
  void withdraw(const verbs::Gid& gid, verbs::GidType type) override {
    withdrawn_.emplace_back(gid, type);
    ++epoch_;
  }
  std::optional<verbs::Path> find(const verbs::Gid&, verbs::GidType) const override {
    ++finds_;
    if (!reachable_) return std::nullopt;
    return verbs::Path{.transport = &transport_, .peer = verbs::AdapterId{1}};
  }
  std::uint64_t epoch() const override { return epoch_; }

 private:
  verbs::Transport& transport_;
  std::vector<Entry> announced_;
  std::vector<Entry> withdrawn_;
  mutable unsigned finds_ = 0;
  std::uint64_t epoch_ = 1;
  bool reachable_ = true;
  bool refuses_ = false;
};

}  // namespace paravane::fake
