// Twins: two pairs of hosts that talk over a channel, of TCP or with the lanes of a trunk, in which
// the same happens, but that the engines of one pair are replaced time and again in the middle of
// what is under way. Whatever programs can see is the same.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "testing/lanes_rig.h"
#include "testing/tcp_rig.h"
#include "testing/verbs_requests.h"

namespace paravane::fake {
namespace {

constexpr std::uint64_t kTwinArea = 300'000;
constexpr std::size_t kTwinPairs = 3;

template <typename Rig>
class ChannelTwin {
 public:
  explicit ChannelTwin(std::uint32_t seed) : random_(seed) {
    for (unsigned side = 0; side < 2; ++side) {
      sources_.at(side) = vm(side).buffer(kTwinArea);
      vm(side).fill(sources_.at(side), static_cast<std::uint8_t>(side + 1));
      for (std::size_t i = 0; i < kTwinPairs; ++i) {
        written_.at(side).push_back(vm(side).buffer(kTwinArea));
        read_.at(side).push_back(vm(side).buffer(kTwinArea));
        qps_.at(side).push_back(vm(side).queue_pair());
      }
    }
    for (std::size_t i = 0; i < kTwinPairs; ++i) {
      Rig::connect(rig_.a(), *qps_[0][i], rig_.b(), *qps_[1][i]);
    }
  }

  void act() {
    for (std::uint32_t left = 1 + below(6); left > 0; --left) post();
    for (std::uint32_t left = below(5); left > 0; --left) {
      rig_.turn({.bytes = 70'000, .operations = static_cast<std::int32_t>(1 + below(4))});
    }
  }
  void hand_over(unsigned side) {
    std::vector<EngineQp*> all;
    for (const auto& one : qps_.at(side)) all.push_back(one.get());
    const Status done = rig_.hand_over(side, all);
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
  }
  void rest() {
    for (const auto& [qp, receive] : late_) qp->post(receive);
    late_.clear();
    rig_.advance(std::chrono::seconds(2));
  }
  std::vector<std::string> seen() {
    std::vector<std::string> all;
    for (unsigned side = 0; side < 2; ++side) {
      for (const auto& one : qps_.at(side)) {
        all.push_back(list(one->sends) + "| " + list(one->receives) + "| " +
                      std::string(to_string(one->qp->state())));
      }
      for (const auto* buffers : {&written_.at(side), &read_.at(side)}) {
        for (const EngineBuffer& one : *buffers) {
          const auto bytes = vm(side).read(one, 0, one.length);
          const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
          all.push_back(std::to_string(std::hash<std::string_view>()(text)));
        }
      }
    }
    return all;
  }
  std::uint64_t done() const {
    std::uint64_t count = 0;
    for (const auto& side : qps_) {
      for (const auto& one : side) count += one->sends.size();
    }
    return count;
  }
  Rig& rig() { return rig_; }
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

 private:
  EngineVm& vm(unsigned side) { return side == 0 ? rig_.a() : rig_.b(); }
  void post() {
    const unsigned side = below(2);
    const std::size_t index = below(kTwinPairs);
    const std::uint64_t length = below(3) == 0 ? kTwinArea - 1 - below(200'000) : 1 + below(3000);
    const std::uint64_t to = below(static_cast<std::uint32_t>(kTwinArea - length));
    EngineQp& ours = *qps_.at(side).at(index);
    const EngineBuffer& there = written_.at(1 - side).at(index);
    const EngineBuffer& answers = read_.at(side).at(index);
    const verbs::Sge source = sources_.at(side).sge(0, length);
    switch (below(5)) {
      case 0: return ours.post(write_request(++id_, {source}, there.start + to, there.key));
      case 1:
        return ours.post(read_request(++id_, {answers.sge(to, length)}, sources_.at(1 - side).start,
                                      sources_.at(1 - side).key));
      case 2:
        return ours.post(add_request(++id_, answers.sge(0, 8), there.start + 8 * below(8),
                                     there.key, 1 + below(9)));
      default: break;
    }
    late_.emplace_back(qps_.at(1 - side).at(index).get(),
                       receive_request(++id_, {there.sge(to, length)}));
    ours.post(send_request(++id_, {source}));
    if (below(3) == 0) return;
    for (const auto& [qp, receive] : late_) qp->post(receive);
    late_.clear();
  }
  static std::string list(const RecordingCq& cq) {
    std::string all;
    for (const verbs::Completion& one : cq.all()) {
      all += std::to_string(one.wr_id) + ":" + std::to_string(std::to_underlying(one.status)) +
             ":" + std::to_string(one.byte_len) + " ";
    }
    return all;
  }

  std::mt19937 random_;
  Rig rig_;
  std::array<EngineBuffer, 2> sources_;  // never written
  std::array<std::vector<EngineBuffer>, 2> written_;
  std::array<std::vector<EngineBuffer>, 2> read_;
  std::array<std::vector<std::unique_ptr<EngineQp>>, 2> qps_;
  std::vector<std::pair<EngineQp*, verbs::ReceiveRequest>> late_;
  std::uint64_t id_ = 0;
};

// Over how many hand-overs, and how many requests they were compared.
template <typename Rig>
void expect_twins_see_the_same(std::uint32_t seeds) {
  std::uint64_t done = 0;
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    ChannelTwin<Rig> plain(seed);
    ChannelTwin<Rig> replaced(seed);
    for (int step = 0; step < 8; ++step) {
      plain.act();
      replaced.act();
      replaced.hand_over(static_cast<unsigned>(step) % 2);
      plain.act();
      replaced.act();
      plain.rest();
      replaced.rest();
      ASSERT_EQ(replaced.seen(), plain.seen()) << "seed " << seed << ", step " << step;
    }
    done += replaced.done();
  }
  EXPECT_GT(done, 40u * seeds);
}

TEST(SavedChannels, ATwinOverTcpSeesTheSame) {
  expect_twins_see_the_same<TcpRig>(12);
}

TEST(SavedChannels, ATwinOverLanesSeesTheSame) {
  expect_twins_see_the_same<LanesRig>(12);
}

TEST(SavedChannels, LongMessagesOfTheTwinGoByLanes) {
  ChannelTwin<LanesRig> twin(3);
  for (int step = 0; step < 8; ++step) {
    twin.act();
    twin.hand_over(static_cast<unsigned>(step) % 2);
    twin.act();
    const std::uint64_t before = twin.rig().lane_bytes();
    twin.rest();
    if (twin.rig().lane_bytes() > before) return;
  }
  FAIL() << "nothing went by a lane after a hand-over";
}

}  // namespace
}  // namespace paravane::fake
