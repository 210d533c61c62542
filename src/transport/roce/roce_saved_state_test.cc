// Connections over packets, one end of which is another engine time and again, in the middle of
// what is under way. The peer notices a silence and no more.

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

#include "testing/bad_weather.h"
#include "testing/edited_state.h"
#include "transport/roce/roce_peer_test.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using verbs::QpState;
using verbs::QpType;
using verbs::WcStatus;
using wire::roce::Opcode;

std::vector<FrameBytes> lost_frame() {
  return {};
}

// Two adapters whose wire loses, repeats and reorders; what happens to them follows from the seed
// alone.
class PacketTwin {
 public:
  PacketTwin(std::uint32_t seed, bool is_replaced)
      : random_(seed), chances_(seed + 1000), is_replaced_(is_replaced) {
    rig_.wire().set_weather(
        BadWeather({.lost = 0.02, .repeated = 0.02, .late = 0.02, .damaged = 0.005}, seed));
    for (unsigned side = 0; side < 2; ++side) {
      Memory& memory = memory_.at(side);
      memory.sources = rig_.vm(side).buffer(kArea);
      rig_.vm(side).fill(memory.sources, static_cast<std::uint8_t>(side));
      for (std::size_t i = 0; i < kPairs; ++i) {
        memory.written.push_back(rig_.vm(side).buffer(kArea));
        memory.read.push_back(rig_.vm(side).buffer(kArea));
        memory.answers.push_back(rig_.vm(side).buffer(kAnswers));
        qps_.at(side).push_back(rig_.vm(side).queue_pair());
      }
    }
    for (std::size_t i = 0; i < kPairs; ++i) connect(i);
  }

  // Some requests, of which not all get done.
  void act() {
    for (std::uint32_t left = below(6) + 1; left > 0; --left) post();
    for (std::uint32_t left = chance(40); left > 0; --left) {
      rig_.turn({.bytes = 20'000, .operations = static_cast<std::int32_t>(chance(30)) + 1});
      if (chance(4) == 0) rig_.skip(milliseconds(1));
    }
  }
  // Either side, which is silent for a while.
  void hand_over() {
    const unsigned side = chance(2);
    if (!is_replaced_) return;
    const std::vector<EngineQp*> qps = all_of(side);
    const std::vector<std::byte> state = rig_.save(side, qps);
    rig_.end_engine(side, qps);
    const Status loaded = rig_.load(side, state, qps);
    ASSERT_TRUE(loaded) << loaded.error().message;
    const std::vector<std::byte> again = rig_.save(side, qps);
    ASSERT_TRUE(again == state);
    for (std::uint32_t left = chance(4); left > 0; --left) rig_.turn();
    if (chance(3) == 0) rig_.advance(milliseconds(chance(100)));
    rig_.open_door(side);
  }
  // All that was posted is done; sometimes a connection ends, and there is another.
  void rest() {
    post_late();
    rig_.advance(seconds(8));
    const std::size_t which = below(3 * kPairs);
    if (which >= kPairs) return;
    for (unsigned side = 0; side < 2; ++side) {
      EXPECT_TRUE(fake::move(*qp(side, which).qp, QpState::kReset, {}));
    }
    connect(which);
  }
  std::vector<std::string> seen() const {
    std::vector<std::string> all;
    for (unsigned side = 0; side < 2; ++side) {
      for (const auto& one : qps_.at(side)) {
        all.push_back(list(one->sends) + " | " + list(one->receives) + " | " +
                      std::string(to_string(one->qp->state())));
      }
      for (const auto* list :
           {&memory_.at(side).written, &memory_.at(side).read, &memory_.at(side).answers}) {
        for (const EngineBuffer& one : *list) {
          all.push_back(digest(rig_.vm(side).read(one, 0, one.length)));
        }
      }
    }
    return all;
  }
  // Whether each request was done once, and none failed.
  bool all_done() const {
    std::size_t done = 0;
    for (unsigned side = 0; side < 2; ++side) {
      for (const auto& one : qps_.at(side)) {
        for (const WcStatus status : one->sends.statuses()) done += status == WcStatus::kSuccess;
      }
    }
    return done == posted_;
  }

 private:
  static constexpr std::uint64_t kArea = 40'000;
  static constexpr std::uint64_t kAnswers = 4096;  // of atomics
  static constexpr std::size_t kPairs = 3;

  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  // What programs do not see.
  std::uint32_t chance(std::uint32_t limit) {
    return static_cast<std::uint32_t>(chances_() % limit);
  }
  EngineQp& qp(unsigned side, std::size_t index) { return *qps_.at(side).at(index); }
  std::vector<EngineQp*> all_of(unsigned side) {
    std::vector<EngineQp*> all;
    for (const auto& one : qps_.at(side)) all.push_back(one.get());
    return all;
  }
  void connect(std::size_t index) {
    verbs::QpAttributes attributes = default_attributes();
    attributes.path_mtu = 1;  // 256
    attributes.timeout = 14;  // 67 ms
    attributes.retry_count = 7;
    attributes.rnr_retry = 7;  // for ever
    attributes.max_reads = 4;
    attributes.max_dest_reads = 4;
    // Numbers of another connection's late packets, and some that come round soon.
    attributes.send_psn = (below(2) == 0 ? below(1u << 24) : 0xFF'FF00 + below(256));
    attributes.receive_psn = attributes.send_psn;
    rig_.connect(rig_.a(), qp(0, index), rig_.b(), qp(1, index), attributes);
  }
  void post_late() {
    for (const auto& [qp, receive] : late_) qp->post(receive);
    late_.clear();
  }
  void post() {
    const unsigned side = below(2);
    const std::size_t index = below(kPairs);
    const std::uint64_t length = below(3) == 0 ? kArea - 1 - below(13'000) : below(3000);
    const std::uint64_t from = below(static_cast<std::uint32_t>(kArea - length));
    const std::uint64_t to = below(static_cast<std::uint32_t>(kArea - length));
    EngineQp& ours = qp(side, index);
    const Memory& here = memory_.at(side);
    const EngineBuffer& there = memory_.at(1 - side).written[index];
    const EngineBuffer& sources = memory_.at(1 - side).sources;
    const verbs::Sge source = here.sources.sge(from, length);
    const verbs::Sge answer = here.answers[index].sge(8 * below(kAnswers / 8), 8);
    const std::uint64_t word = there.start + 8 * below(8);
    const verbs::Immediate imm{std::byte{1}, std::byte{2}, std::byte{3},
                               static_cast<std::byte>(posted_)};
    ++posted_;
    switch (below(7)) {
      case 0: return ours.post(write_request(++id_, {source}, there.start + to, there.key));
      case 1:
        return ours.post(read_request(++id_, {here.read[index].sge(to, length)},
                                      sources.start + from, sources.key));
      case 2: return ours.post(add_request(++id_, answer, word, there.key, 1 + below(9)));
      case 3: {
        const std::uint64_t compare = below(3);
        return ours.post(swap_request(++id_, answer, word, there.key, compare, below(3)));
      }
      default: break;
    }
    // The receive may come first, or late.
    late_.emplace_back(&qp(1 - side, index), receive_request(++id_, {there.sge(to, length)}));
    switch (below(3)) {
      case 0: ours.post(send_request(++id_, {source})); break;
      case 1: ours.post(with_imm(send_request(++id_, {source}), imm)); break;
      default:
        ours.post(with_imm(write_request(++id_, {source}, there.start + to, there.key), imm));
    }
    if (below(3) != 0) post_late();
  }

  static std::string list(const RecordingCq& cq) {
    std::string all;
    for (const verbs::Completion& one : cq.all()) {
      all += std::to_string(one.wr_id) + ":" + std::to_string(std::to_underlying(one.status)) +
             ":" + std::to_string(one.byte_len) + ":" +
             (one.with_imm ? std::to_string(std::to_integer<int>(one.imm[3])) : "-") + " ";
    }
    return all;
  }
  static std::string digest(const std::vector<std::byte>& bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return std::to_string(std::hash<std::string_view>()(text));
  }

  // Of one side. What one queue pair writes, no other does.
  struct Memory {
    EngineBuffer sources;  // never written
    std::vector<EngineBuffer> written;
    std::vector<EngineBuffer> read;
    std::vector<EngineBuffer> answers;
  };

  std::mt19937 random_;
  std::mt19937 chances_;
  const bool is_replaced_;
  mutable RoceRig rig_{64, true, 16 << 20};
  std::array<Memory, 2> memory_;
  std::array<std::vector<std::unique_ptr<EngineQp>>, 2> qps_;
  std::vector<std::pair<EngineQp*, verbs::ReceiveRequest>> late_;
  std::uint64_t id_ = 0;
  std::size_t posted_ = 0;
};

TEST(SavedRoce, ItsTwinSeesTheSame) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    PacketTwin plain(seed, false);
    PacketTwin replaced(seed, true);
    for (int step = 0; step < 5; ++step) {
      for (PacketTwin* twin : {&plain, &replaced}) {
        twin->act();
        twin->hand_over();
        twin->act();
        twin->hand_over();
        twin->act();
        twin->rest();
        ASSERT_TRUE(twin->all_done()) << "seed " << seed << ", step " << step;
      }
      ASSERT_EQ(replaced.seen(), plain.seen()) << "seed " << seed << ", step " << step;
    }
  }
}

// Wherever a READ in parts is left, its successor asks for nothing that the peer has no request
// for.
TEST(SavedRoce, AReadInPartsGoesOn) {
  constexpr std::uint64_t kLong = 100'000;
  RoceRig rig;
  verbs::QpAttributes attributes = default_attributes();
  attributes.path_mtu = 1;
  attributes.timeout = 14;  // 67 ms
  const auto ours = rig.a().queue_pair();
  const auto peer = rig.b().queue_pair();
  rig.connect(rig.a(), *ours, rig.b(), *peer, attributes);
  std::mt19937 random(3);
  rig.wire().set_weather([&](unsigned, FrameBytes frame) {
    return random() % 32 == 0 ? lost_frame() : std::vector<FrameBytes>{std::move(frame)};
  });
  const EngineBuffer from = rig.b().buffer(kLong);
  const EngineBuffer to = rig.a().buffer(kLong);
  std::uint8_t reads = 0;
  const auto post = [&] { ours->post(read_request(reads, {to.whole()}, from.start, from.key)); };
  post();
  std::array<EngineQp*, 1> qps{ours.get()};
  for (unsigned successors = 0; successors < 300; ++successors) {
    for (auto turns = random() % 20; turns > 0; --turns) rig.turn();
    rig.advance(milliseconds(random() % 4));
    if (ours->sends.size() > reads) {
      ASSERT_THAT(ours->sends.statuses(), Each(WcStatus::kSuccess));
      ASSERT_TRUE(rig.a().read(to, 0, kLong) == rig.b().read(from, 0, kLong));
      rig.b().fill(from, ++reads);
      post();
    }
    const std::vector<std::byte> state = rig.save(0, qps);
    rig.end_engine(0, qps);
    ASSERT_TRUE(rig.load(0, state, qps));
    rig.open_door(0);
  }
  EXPECT_GT(reads, 5u);
  rig.advance(seconds(20));
  EXPECT_EQ(ours->sends.size(), reads + 1u);
  EXPECT_THAT(ours->sends.statuses(), Each(WcStatus::kSuccess));
}

// One side is ours, and the peer is played packet by packet.
class SavedRocePeer : public RocePeer {
 protected:
  std::vector<std::byte> saved() { return rig_.save(0, qps_); }
  std::string load(std::span<const std::byte> state) {
    rig_.end_engine(0, qps_);
    const Status loaded = rig_.load(0, state, qps_);
    return loaded ? "" : loaded.error().message;
  }
  void hand_over() {
    const std::vector<std::byte> state = saved();
    ASSERT_EQ(load(state), "");
    EXPECT_EQ(saved(), state);
    rig_.open_door(0);
    ASSERT_TRUE(rig_.run());
  }

  std::array<EngineQp*, 1> qps_{qp_.get()};
};

TEST_F(SavedRocePeer, RequestsGoOnWithTheirNumbers) {
  connect();
  post_send(1);
  post_send(2);
  hear(acknowledgement(kFirstPsn));
  EXPECT_THAT(sent_psns(), ElementsAre(100, 101, 102, 103, 104, 105));
  hand_over();
  EXPECT_THAT(sent_psns(), ElementsAre(101, 102, 103, 104, 105));
  hear(acknowledgement(kFirstPsn + 5));
  post_send(3);
  EXPECT_THAT(sent_psns(), ElementsAre(106, 107, 108));
  EXPECT_THAT(qp_->sends.wr_ids(), ElementsAre(1, 2));
  EXPECT_THAT(qp_->sends.statuses(), Each(WcStatus::kSuccess));
  EXPECT_EQ(qp_->qp->stats().retries, 0u);
}

// All had arrived, and the acknowledgement was lost with the engine that was replaced.
TEST_F(SavedRocePeer, AnAcknowledgementThatWasLostComesWithTheRepetition) {
  connect();
  post_send(1);
  sent_.clear();
  hand_over();
  EXPECT_THAT(sent_psns(), ElementsAre(100, 101, 102));
  hear(acknowledgement(kFirstPsn + 2));
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

TEST_F(SavedRocePeer, ASendOfWhichPartHasArrivedIsTakenOnce) {
  connect();
  qp_->post(receive_request(5, {buffer_.sge(0, 3 * kPeerMtu)}));
  hear(of_peer(Opcode::kSendFirst, kFirstPsn), kPeerMtu);
  hear(of_peer(Opcode::kSendMiddle, kFirstPsn + 1), kPeerMtu);
  sent_.clear();
  hand_over();
  EXPECT_THAT(sent_, IsEmpty());
  hear(of_peer(Opcode::kSendMiddle, kFirstPsn + 1), kPeerMtu);  // again: it waited for the answer
  hand_over();
  hear(of_peer(Opcode::kSendLast, kFirstPsn + 2), 10);
  EXPECT_EQ(sent_.back().psn, kFirstPsn + 2);
  EXPECT_EQ(sent_.back().syndrome, wire::roce::kAcknowledged);
  EXPECT_EQ(sent_.back().message_number, 1u);
  hear(of_peer(Opcode::kSendLast, kFirstPsn + 2), 10);
  ASSERT_THAT(qp_->receives.wr_ids(), ElementsAre(5));
  EXPECT_EQ(qp_->receives.at(0).status, WcStatus::kSuccess);
  EXPECT_EQ(qp_->receives.at(0).byte_len, 2 * kPeerMtu + 10);
  for (std::uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(fetched(i), payload_of(kPeerMtu, kFirstPsn + i));
  }
}

TEST_F(SavedRocePeer, AWriteOfWhichPartHasArrivedGoesOn) {
  connect();
  wire::roce::Packet first = write_of_peer(kFirstPsn);
  first.opcode = Opcode::kWriteFirst;
  first.length = kPeerMtu + 1;
  hear(first, kPeerMtu);
  hand_over();
  sent_.clear();
  hear(of_peer(Opcode::kWriteLast, kFirstPsn + 1), 1);
  EXPECT_EQ(sent_.back().syndrome, wire::roce::kAcknowledged);
  EXPECT_EQ(fetched(0), payload_of(kPeerMtu, kFirstPsn));
  EXPECT_EQ(rig_.a().read(buffer_, kPeerMtu, 1), payload_of(1, kFirstPsn + 1));
}

// Its key is gone since: as if it had gone between two packets.
TEST_F(SavedRocePeer, AWriteWhoseRegionIsGoneIsRefused) {
  connect();
  wire::roce::Packet first = write_of_peer(kFirstPsn);
  first.opcode = Opcode::kWriteFirst;
  first.length = kPeerMtu + 1;
  hear(first, kPeerMtu);
  hand_over();
  EXPECT_EQ(qp_->state(), QpState::kReadyToSend);
  EXPECT_TRUE(rig_.a().adapter().regions().remove(buffer_.key));
  sent_.clear();
  hear(of_peer(Opcode::kWriteLast, kFirstPsn + 1), 1);
  EXPECT_EQ(sent_.back().syndrome, wire::roce::refused(wire::roce::NakCode::kRemoteAccessError));
}

TEST_F(SavedRocePeer, WhatWasExecutedIsAnsweredAgain) {
  attributes_.max_dest_reads = 3;
  connect();
  hear(add_of_peer(kFirstPsn));
  hear(read_of_peer(kFirstPsn + 1, 0, 2 * kPeerMtu));
  hear(write_of_peer(kFirstPsn + 3));
  hear(add_of_peer(kFirstPsn + 4));
  hand_over();
  sent_.clear();
  hear(add_of_peer(kFirstPsn + 4));
  hear(add_of_peer(kFirstPsn));
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].original, 1u);
  EXPECT_EQ(sent_[0].message_number, 4u);
  EXPECT_EQ(sent_[1].original, 0u);
  EXPECT_EQ(word(), 2u);
  sent_.clear();
  hear(read_of_peer(kFirstPsn + 1, 0, 2 * kPeerMtu));
  EXPECT_THAT(sent_opcodes(), ElementsAre(Opcode::kReadResponseFirst, Opcode::kReadResponseLast));
  hear(add_of_peer(kFirstPsn + 5));
  EXPECT_EQ(sent_.back().original, 2u);
  EXPECT_EQ(word(), 3u);
}

// The peer was not told that a packet is missing: the answer was not sent yet.
TEST_F(SavedRocePeer, AGapIsToldAgain) {
  connect();
  rig_.wire().set_room(0);
  rig_.wire().inject(0, frame_of(write_of_peer(kFirstPsn + 1), {}));
  rig_.turn();
  rig_.wire().set_room(100);
  hand_over();
  sent_.clear();
  hear(write_of_peer(kFirstPsn + 2));
  ASSERT_FALSE(sent_.empty());
  EXPECT_EQ(sent_.back().psn, kFirstPsn);
}

TEST_F(SavedRocePeer, NoRetryIsSpentBeforeTheDoorIsOpen) {
  attributes_.timeout = 8;  // 1 ms
  attributes_.retry_count = 0;
  connect();
  post_send(1);
  ASSERT_EQ(load(saved()), "");
  sent_.clear();
  rig_.advance(seconds(4));
  EXPECT_THAT(qp_->sends.all(), IsEmpty());
  rig_.open_door(0);
  ASSERT_TRUE(rig_.run());
  EXPECT_THAT(sent_psns(), ElementsAre(100, 101, 102));
  hear(acknowledgement(kFirstPsn + 2));
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

TEST_F(SavedRocePeer, ADoorThatStaysClosedIsASilentPeer) {
  attributes_.timeout = 8;  // 1 ms
  connect();
  post_send(1);
  ASSERT_EQ(load(saved()), "");
  rig_.advance(seconds(6));
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded));
}

// A second engine takes over before the first has opened the door.
TEST_F(SavedRocePeer, ConnectionsWithoutADoorAreSavedToo) {
  connect();
  post_send(1);
  const std::vector<std::byte> state = saved();
  ASSERT_EQ(load(state), "");
  hand_over();
  hear(acknowledgement(kFirstPsn + 2));
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kSuccess));
}

// The numbers that were sent belong to one request, which another cannot use.
TEST_F(SavedRocePeer, NumbersOfAnotherRequestAreNotUsed) {
  connect();
  post_send(1);
  const std::vector<std::byte> state = saved();
  constexpr std::array<std::uint16_t, 4> kOldest{2, 2, 3, 4};
  ASSERT_EQ(load(edited(state, kOldest, to_number(12'345))), "");
  sent_.clear();
  rig_.open_door(0);
  ASSERT_TRUE(rig_.run());
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_THAT(qp_->sends.statuses(), ElementsAre(WcStatus::kRetryExceeded));
}

TEST_F(SavedRocePeer, ImpossibleStatesAreRefused) {
  attributes_.max_dest_reads = 2;
  connect();
  hear(read_of_peer(kFirstPsn, 0, kPeerMtu));
  hear(add_of_peer(kFirstPsn + 1));
  qp_->post(receive_request(5, {buffer_.sge(0, 3 * kPeerMtu)}));
  hear(of_peer(Opcode::kSendFirst, kFirstPsn + 2), kPeerMtu);
  post_send(1);
  const std::vector<std::byte> state = saved();
  using Path = std::vector<std::uint16_t>;
  const auto refusal = [&](const Path& path, std::uint64_t number) {
    return load(edited(state, path, to_number(number)));
  };
  EXPECT_EQ(refusal({2, 2, 1}, 3), "the state is refused: 2.2: no queue pair can have such a flow");
  EXPECT_EQ(refusal({2, 2, 2, 1}, 1 << 24),
            "the state is refused: 2.2.2.1: 16777216 is above 16777215");
  EXPECT_EQ(refusal({2, 2, 2, 1}, kFirstPsn + 1),
            "the state is refused: 2.2.2.5: answers are kept in no order");
  EXPECT_EQ(refusal({2, 2, 2, 5, 1}, kFirstPsn + 1),
            "the state is refused: 2.2.2.5: answers are kept in no order");
  EXPECT_EQ(refusal({2, 2, 2, 5, 6}, std::uint64_t{1} << 32),
            "the state is refused: 2.2.2.5.6: 4294967296 is above 2147483648");
  EXPECT_EQ(refusal({2, 2, 2, 6, 1}, kPeerMtu + 1),
            "the state is refused: 2.2.2.6: its packets are no whole ones");
  EXPECT_EQ(refusal({2, 2, 3, 1}, kFirstPsn + 4),
            "the state is refused: 2.2.3: packets were sent in no order");
  EXPECT_EQ(refusal({2, 2, 3, 3}, kFirstPsn + 1),
            "the state is refused: 2.2.3: packets were sent in no order");
  ASSERT_EQ(load(state), "");
}

// Each byte may be another: the state is refused, or harms its own connection alone.
TEST_F(SavedRocePeer, AChangedStateIsRefusedOrHarmless) {
  attributes_.max_dest_reads = 3;
  attributes_.timeout = 8;
  connect();
  hear(read_of_peer(kFirstPsn, 0, kPeerMtu));
  hear(add_of_peer(kFirstPsn + 1));
  hear(of_peer(Opcode::kSendFirst, kFirstPsn + 2), kPeerMtu);
  qp_->post(receive_request(5, {buffer_.sge(0, 3 * kPeerMtu)}));
  hear(of_peer(Opcode::kSendFirst, kFirstPsn + 2), kPeerMtu);
  post_send(1);
  post_read(2);
  const std::vector<std::byte> state = saved();
  // Behind that of the adapter and the queue pairs, and the counters.
  const std::size_t of_vm = 6 + rig_.a().save(qps_).size();
  const std::size_t first = state.size() - 260;
  ASSERT_GT(first, of_vm);
  std::size_t refused = 0;
  for (std::size_t at = first; at < state.size(); ++at) {
    for (const std::byte bits : {std::byte{0x01}, std::byte{0x80}, std::byte{0xFF}}) {
      std::vector<std::byte> changed = state;
      changed[at] ^= bits;
      if (!load(changed).empty()) {
        ++refused;
        continue;
      }
      rig_.open_door(0);
      for (std::uint32_t psn = kFirstPsn - 2; psn < kFirstPsn + 8; ++psn) {
        for (const Opcode opcode :
             {Opcode::kAcknowledge, Opcode::kReadResponseOnly, Opcode::kSendMiddle,
              Opcode::kSendLast, Opcode::kReadRequest, Opcode::kFetchAdd}) {
          if (qp_->qp == nullptr) break;
          rig_.wire().inject(0, frame_of(of_peer(opcode, psn), payload_of(kPeerMtu, psn)));
        }
      }
      rig_.run(200);
      rig_.skip(milliseconds(5));
      rig_.run(200);
    }
  }
  EXPECT_GT(refused, 100u);
  ASSERT_EQ(load(state), "");
}

TEST_F(SavedRocePeer, WhatIsCutIsRefused) {
  connect();
  hear(read_of_peer(kFirstPsn, 0, kPeerMtu));
  post_send(1);
  const std::vector<std::byte> state = saved();
  const std::size_t of_vm = 6 + rig_.a().save(qps_).size();
  for (std::size_t size = of_vm + 1; size < state.size(); ++size) {
    EXPECT_NE(load(std::span(state).first(size)), "") << size;
  }
}

TEST(SavedRoce, AStateTouchesNoOtherAdapter) {
  RoceRig rig;
  const auto ours = rig.a().queue_pair();
  const auto peer = rig.b().queue_pair();
  rig.connect(rig.a(), *ours, rig.b(), *peer);
  const EngineBuffer from = rig.a().buffer(4096);
  const EngineBuffer to = rig.b().buffer(4096);
  ours->post(write_request(1, {from.whole()}, to.start, to.key));
  ASSERT_TRUE(rig.run());
  std::array<EngineQp*, 1> qps{ours.get()};
  std::array<EngineQp*, 1> peers{peer.get()};
  const std::vector<std::byte> before = rig.save(1, peers);
  std::vector<std::byte> state = rig.save(0, qps);
  rig.end_engine(0, qps);
  EXPECT_FALSE(rig.load(0, std::span(state).first(state.size() - 1), qps));
  rig.end_engine(0, qps);
  ASSERT_TRUE(rig.load(0, state, qps));
  rig.open_door(0);
  EXPECT_EQ(rig.save(1, peers), before);
  ours->post(write_request(2, {from.whole()}, to.start, to.key));
  peer->post(write_request(3, {to.whole()}, from.start, from.key));
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(ours->sends.statuses(), std::vector(2, WcStatus::kSuccess));
  EXPECT_EQ(peer->sends.statuses(), std::vector(1, WcStatus::kSuccess));
}

TEST(SavedRoce, DatagramsOfTheGsiGoOn) {
  RoceRig rig;
  const auto ours = rig.a().queue_pair(QpType::kGeneralServices);
  const auto peer = rig.b().queue_pair(QpType::kGeneralServices);
  for (EngineQp* qp : {ours.get(), peer.get()}) {
    ASSERT_TRUE(bring_up(*qp->qp, QpState::kReadyToSend, default_attributes()));
  }
  const EngineBuffer from = rig.a().buffer(4096);
  const EngineBuffer to = rig.b().buffer(4096);
  verbs::SendRequest request = send_request(1, {from.sge(0, 256)});
  request.remote_qpn = verbs::kGsiQpNumber;
  request.remote_qkey = default_attributes().qkey;
  request.av.dgid = rig.b().gid();
  request.av.hop_limit = 64;
  std::array<EngineQp*, 1> qps{ours.get()};
  const std::vector<std::byte> state = rig.save(0, qps);
  rig.end_engine(0, qps);
  ASSERT_TRUE(rig.load(0, state, qps));
  ours->post(request);  // lost: there is no door yet
  ASSERT_TRUE(rig.run());
  rig.open_door(0);
  peer->post(receive_request(2, {to.whole()}));
  ours->post(request);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(ours->sends.statuses(), std::vector(2, WcStatus::kSuccess));
  EXPECT_THAT(peer->receives.wr_ids(), ElementsAre(2));
}

}  // namespace
}  // namespace paravane::fake
