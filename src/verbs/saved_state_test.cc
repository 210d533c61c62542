// Twins: two hosts in which the same happens, but that the engine of one is replaced time and
// again, in the middle of what is under way. Whatever programs can see is the same.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "testing/engine_rig.h"
#include "testing/verbs_requests.h"
#include "verbs/queue_pair.h"

namespace paravane::verbs {
namespace {

using fake::EngineBuffer;
using fake::EngineQp;
using fake::EngineRig;
using fake::EngineVm;

constexpr std::uint64_t kArea = 400'000;  // longer than what is copied at once
constexpr std::uint64_t kAnswers = 4096;  // of atomics
constexpr std::size_t kPairs = 3;         // of connections; one of datagrams is the last

// What programs see of one queue pair.
using Seen = std::vector<std::string>;

class Twin {
 public:
  explicit Twin(std::uint32_t seed) : random_(seed) {
    for (unsigned side = 0; side < 2; ++side) {
      EngineVm& vm = rig_.vm(side);
      Memory& memory = memory_.at(side);
      memory.sources = vm.buffer(kArea);
      vm.fill(memory.sources, static_cast<std::uint8_t>(side));
      for (std::size_t i = 0; i <= kPairs; ++i) {
        memory.written.push_back(vm.buffer(kArea));
        memory.read.push_back(vm.buffer(kArea));
        memory.answers.push_back(vm.buffer(kAnswers));
      }
      for (std::size_t i = 0; i < kPairs; ++i) qps_.at(side).push_back(vm.queue_pair());
      qps_.at(side).push_back(vm.queue_pair(QpType::kUnreliableDatagram));
    }
    for (std::size_t i = 0; i < kPairs; ++i) connect(i);
    for (unsigned side = 0; side < 2; ++side) {
      QpAttributes attributes = fake::default_attributes();
      attributes.qkey = 7;
      EXPECT_TRUE(fake::bring_up(*qp(side, kPairs).qp, QpState::kReadyToSend, attributes));
    }
  }

  // Some requests, of which not all get done.
  void act() {
    for (std::uint32_t left = below(6) + 1; left > 0; --left) post();
    for (std::uint32_t left = below(2) * below(6); left > 0; --left) {
      rig_.turn({.bytes = 100'000, .operations = static_cast<std::int32_t>(below(4)) + 1});
    }
    // What is long stays in the middle.
    for (unsigned side = 0; side < 2; ++side) {
      Budget budget{.bytes = 1'000'000, .operations = 3};
      rig_.vm(side).adapter().run(rig_.now(), budget);
    }
  }
  void hand_over() {
    std::array<std::vector<EngineQp*>, 2> all;
    for (unsigned side = 0; side < 2; ++side) {
      for (const auto& one : qps_.at(side)) all.at(side).push_back(one.get());
    }
    EXPECT_TRUE(rig_.hand_over(all));
  }
  // All that was posted is done; sometimes a connection ends, and there is another.
  void rest() {
    for (const auto& [qp, receive] : late_) qp->post(receive);
    late_.clear();
    rig_.advance(std::chrono::seconds(1));
    const std::size_t which = below(3 * kPairs);
    if (which < kPairs) renew(which);
    const unsigned side = below(2);
    EngineVm& vm = rig_.vm(side);
    if (below(2) == 0) {  // keys are the same
      other_keys_.push_back(vm.buffer(4096).key);
      if (below(2) == 0) {
        EXPECT_TRUE(vm.adapter().regions().remove(other_keys_.back()));
      }
    }
  }
  Seen seen() const {
    Seen all;
    for (unsigned side = 0; side < 2; ++side) {
      for (const auto& one : qps_.at(side)) {
        all.push_back(list(one->sends) + " | " + list(one->receives) + " | " +
                      std::to_string(one->qp->number()) + " " +
                      std::string(to_string(one->qp->state())));
      }
      const EngineVm& vm = rig_.vm(side);
      for (const auto* list :
           {&memory_.at(side).written, &memory_.at(side).read, &memory_.at(side).answers}) {
        for (const EngineBuffer& one : *list) all.push_back(digest(vm.read(one, 0, one.length)));
      }
    }
    for (const std::uint32_t key : other_keys_) all.push_back(std::to_string(key));
    return all;
  }
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

 private:
  EngineQp& qp(unsigned side, std::size_t index) { return *qps_.at(side).at(index); }
  void connect(std::size_t index) { rig_.connect(rig_.a(), qp(0, index), rig_.b(), qp(1, index)); }
  // Each second one is destroyed, and another one takes its place.
  void renew(std::size_t index) {
    for (unsigned side = 0; side < 2; ++side) {
      if (index == 1) {
        qps_.at(side).at(index) = rig_.vm(side).queue_pair();
      } else {
        EXPECT_TRUE(fake::move(*qp(side, index).qp, QpState::kReset, {}));
      }
    }
    connect(index);
  }
  void post() {
    const unsigned side = below(2);
    const std::size_t index = below(kPairs + 1);
    const std::uint64_t length = below(3) == 0 ? kArea - 1 - below(130'000) : below(3000);
    const std::uint64_t from = below(static_cast<std::uint32_t>(kArea - length));
    const std::uint64_t to = below(static_cast<std::uint32_t>(kArea - length));
    EngineQp& ours = qp(side, index);
    EngineQp& peer = qp(1 - side, index);
    const Memory& here = memory_.at(side);
    const EngineBuffer& there = memory_.at(1 - side).written[index];
    const EngineBuffer& sources = memory_.at(1 - side).sources;
    const Sge source = here.sources.sge(from, length);
    const Sge answer = here.answers[index].sge(8 * below(kAnswers / 8), 8);
    const std::uint64_t word = there.start + 8 * below(8);
    if (index == kPairs) return datagram(side, std::min<std::uint64_t>(length, 2000));
    switch (below(6)) {
      case 0: return ours.post(fake::write_request(++id_, {source}, there.start + to, there.key));
      case 1:
        return ours.post(fake::read_request(++id_, {here.read[index].sge(to, length)},
                                            sources.start + from, sources.key));
      case 2: return ours.post(fake::add_request(++id_, answer, word, there.key, 1 + below(9)));
      case 3: {
        const std::uint64_t compare = below(3);
        return ours.post(fake::swap_request(++id_, answer, word, there.key, compare, below(3)));
      }
      default: break;
    }
    // The receive may come first, or late.
    late_.emplace_back(&peer, fake::receive_request(++id_, {there.sge(to, length)}));
    ours.post(fake::send_request(++id_, {source}));
    if (below(3) == 0) return;
    for (const auto& [qp, receive] : late_) qp->post(receive);
    late_.clear();
  }
  void datagram(unsigned side, std::uint64_t length) {
    EngineQp& peer = qp(1 - side, kPairs);
    peer.post(fake::receive_request(
        ++id_, {memory_.at(1 - side).written[kPairs].sge(0, length + kGrhBytes)}));
    SendRequest request = fake::send_request(++id_, {memory_.at(side).sources.sge(5000, length)});
    request.remote_qpn = peer.qp->number();
    request.remote_qkey = 7;
    request.av.dgid = rig_.vm(1 - side).gid();
    request.av.hop_limit = 64;
    qp(side, kPairs).post(request);
  }

  static std::string list(const fake::RecordingCq& cq) {
    std::string all;
    for (const Completion& one : cq.all()) {
      all += std::to_string(one.wr_id) + ":" + std::to_string(std::to_underlying(one.status)) +
             ":" + std::to_string(one.byte_len) + " ";
    }
    return all;
  }
  static std::string digest(const std::vector<std::byte>& bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return std::to_string(std::hash<std::string_view>()(text));
  }

  std::mt19937 random_;
  mutable EngineRig rig_{2, 16 << 20};
  // Of one side. What one queue pair writes, no other does, so that the order among them is not
  // seen.
  struct Memory {
    EngineBuffer sources;  // never written
    std::vector<EngineBuffer> written;
    std::vector<EngineBuffer> read;
    std::vector<EngineBuffer> answers;
  };
  std::array<Memory, 2> memory_;
  std::array<std::vector<std::unique_ptr<EngineQp>>, 2> qps_;
  std::vector<std::uint32_t> other_keys_;
  std::vector<std::pair<EngineQp*, ReceiveRequest>> late_;
  std::uint64_t id_ = 0;
};

TEST(SavedEngine, ItsTwinSeesTheSame) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    Twin plain(seed);
    Twin replaced(seed);
    for (int step = 0; step < 10; ++step) {
      plain.act();
      replaced.act();
      replaced.hand_over();
      plain.act();
      replaced.act();
      plain.rest();
      replaced.rest();
      ASSERT_EQ(replaced.seen(), plain.seen()) << "seed " << seed << ", step " << step;
    }
  }
}

// One of a VM of its own.
class SavedAdapter : public testing::Test {
 protected:
  SavedAdapter() {
    rig_.connect(rig_.a(), *qp_, rig_.b(), *peer_);
    qp_->post(fake::send_request(1, {buffer_.sge(0, 100)}));
    qp_->post(fake::add_request(2, buffer_.sge(0, 8), there_.start, there_.key, 5));
    rig_.turn();
  }
  std::vector<std::byte> saved() { return rig_.a().save(qps_); }
  std::string load(std::span<const std::byte> state) {
    rig_.local().detach(rig_.a().adapter());
    rig_.a().end_engine(qps_);
    rig_.local().attach(rig_.a().adapter());
    const Status loaded = rig_.a().load(state, qps_);
    return loaded ? "" : loaded.error().message;
  }

  EngineRig rig_{2, 4 << 20};
  std::unique_ptr<EngineQp> qp_ = rig_.a().queue_pair();
  std::unique_ptr<EngineQp> peer_ = rig_.b().queue_pair();
  std::array<EngineQp*, 1> qps_{qp_.get()};
  EngineBuffer buffer_ = rig_.a().buffer(8192);
  EngineBuffer there_ = rig_.b().buffer(8192);
};

TEST_F(SavedAdapter, WhatIsLoadedIsSavedAsTheSame) {
  const std::uint32_t fast = rig_.a().adapter().regions().add_fast(rig_.a().pd(), 8).value();
  EXPECT_TRUE(rig_.a().adapter().regions().add_dma(rig_.a().pd(), kAccessLocalWrite));
  EXPECT_TRUE(rig_.a().adapter().regions().remove(buffer_.key));
  EXPECT_TRUE(rig_.a().adapter().regions().may_register(rig_.a().pd(), fast, 8));
  const Life life = qp_->qp->life();
  constexpr Life kPeers{.high = 7, .low = 8};
  qp_->qp->set_peer_life(kPeers);
  const std::vector<std::byte> before = saved();
  ASSERT_EQ(load(before), "");
  EXPECT_EQ(saved(), before);
  EXPECT_EQ(qp_->qp->life(), life);
  EXPECT_EQ(qp_->qp->peer_life(), kPeers);
  EXPECT_TRUE(rig_.a().adapter().regions().may_register(rig_.a().pd(), fast, 8));
}

TEST_F(SavedAdapter, ARequestThatWaitsForAReceiveGoesOn) {
  ASSERT_EQ(load(saved()), "");
  rig_.run();
  EXPECT_EQ(qp_->sends.size(), 0u);
  peer_->post(fake::receive_request(7, {there_.sge(100, 100)}));
  rig_.advance(std::chrono::seconds(1));
  EXPECT_THAT(qp_->sends.wr_ids(), testing::ElementsAre(1, 2));
  EXPECT_THAT(peer_->receives.wr_ids(), testing::ElementsAre(7));
}

// Channels and the inventory come a moment later than the adapter.
TEST_F(SavedAdapter, NoRetryIsSpentBeforeThereCanBeAPath) {
  rig_.directory().set_link(verbs::AdapterId{1}, false);
  ASSERT_EQ(load(saved()), "");
  rig_.advance(std::chrono::seconds(4));
  EXPECT_EQ(qp_->qp->stats().retries, 0u);
  rig_.directory().set_link(verbs::AdapterId{1}, true);
  peer_->post(fake::receive_request(7, {there_.sge(100, 100)}));
  rig_.advance(std::chrono::seconds(1));
  EXPECT_THAT(qp_->sends.statuses(), testing::ElementsAre(WcStatus::kSuccess, WcStatus::kSuccess));
}

TEST_F(SavedAdapter, APathThatDoesNotComeUsesUpTheRetries) {
  rig_.directory().set_link(verbs::AdapterId{1}, false);
  ASSERT_EQ(load(saved()), "");
  rig_.advance(verbs::Adapter::kSettling + std::chrono::minutes(1));
  EXPECT_GT(qp_->qp->stats().retries, 0u);
  EXPECT_EQ(qp_->sends.at(0).status, WcStatus::kRetryExceeded);
}

// The engine of the other side is replaced, and knows that a peer waits for a receive.
TEST_F(SavedAdapter, AReceiveEndsTheWaitOfAPeer) {
  rig_.run();
  ASSERT_EQ(qp_->sends.size(), 0u);  // there was none
  std::array<EngineQp*, 1> peers{peer_.get()};
  const std::vector<std::byte> state = rig_.b().save(peers);
  rig_.local().detach(rig_.b().adapter());
  rig_.b().end_engine(peers);
  rig_.local().attach(rig_.b().adapter());
  ASSERT_TRUE(rig_.b().load(state, peers));
  EXPECT_EQ(rig_.b().save(peers), state);
  rig_.run();
  peer_->post(fake::receive_request(7, {there_.sge(100, 100)}));
  rig_.run();  // no timer
  EXPECT_THAT(qp_->sends.wr_ids(), testing::ElementsAre(1, 2));
}

// Each byte of a state may be another: it is loaded, or refused, and never harms.
TEST_F(SavedAdapter, AChangedStateIsRefusedOrHarmless) {
  const std::vector<std::byte> state = saved();
  std::size_t refused = 0;
  for (std::size_t at = 0; at < state.size(); ++at) {
    for (const std::byte bit : {std::byte{0x01}, std::byte{0x80}, std::byte{0xFF}}) {
      std::vector<std::byte> changed = state;
      changed[at] ^= bit;
      if (!load(changed).empty()) ++refused;
      rig_.run(20);
      if (qp_->qp == nullptr) {
        ASSERT_EQ(load(state), "");
      }
    }
  }
  EXPECT_GT(refused, state.size());
}

TEST_F(SavedAdapter, WhatIsCutIsRefused) {
  const std::vector<std::byte> state = saved();
  for (std::size_t size = 0; size < state.size(); size += 7) {
    EXPECT_NE(load(std::span(state).first(size)), "") << size;
    if (qp_->qp == nullptr) {
      ASSERT_EQ(load(state), "");
    }
  }
}

}  // namespace
}  // namespace paravane::verbs
