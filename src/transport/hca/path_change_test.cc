// The path changes while requests are under way: nothing is lost, done twice or done in another
// order, whatever was executed on the path before and whichever of its answers were lost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/wire_int.h"
#include "testing/path_change_rig.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;
using verbs::WrOpcode;

constexpr std::uint64_t kRequests = 6;
constexpr std::uint64_t kBytes = 40'000;  // of a message: several turns of a small budget

struct Change {
  WrOpcode opcode;
  Way from;
  Way to;
  bool cuts;  // the channel ends when the path changes, and with it the answers on their way
  transport_impaired::Impairment impairment{};
};

std::string name_of(const testing::TestParamInfo<Change>& info) {
  static const std::map<WrOpcode, std::string> kNames = {
      {WrOpcode::kRdmaWrite, "Write"},
      {WrOpcode::kRdmaWriteWithImm, "WriteWithImm"},
      {WrOpcode::kSend, "Send"},
      {WrOpcode::kSendWithImm, "SendWithImm"},
      {WrOpcode::kSendWithInvalidate, "SendWithInvalidate"},
      {WrOpcode::kRdmaRead, "Read"},
      {WrOpcode::kCompareAndSwap, "CompareAndSwap"},
      {WrOpcode::kFetchAndAdd, "FetchAndAdd"}};
  const Change& change = info.param;
  static const std::map<Way, std::string> kWayNames = {
      {Way::kLocal, "Local"}, {Way::kChannel, "Tcp"}, {Way::kTrunk, "Hca"}};
  return kNames.at(change.opcode) + kWayNames.at(change.from) + "To" + kWayNames.at(change.to) +
         (change.cuts ? "Cut" : "") + (change.impairment.loss != 0 ? "Lossy" : "");
}

std::vector<Change> changes() {
  const transport_impaired::Impairment lossy{.loss = 200'000, .seed = 3};
  std::vector<Change> all;
  for (const WrOpcode opcode :
       {WrOpcode::kRdmaWrite, WrOpcode::kRdmaWriteWithImm, WrOpcode::kSend, WrOpcode::kSendWithImm,
        WrOpcode::kSendWithInvalidate, WrOpcode::kRdmaRead, WrOpcode::kCompareAndSwap,
        WrOpcode::kFetchAndAdd}) {
    for (const auto& impairment : {transport_impaired::Impairment{}, lossy}) {
      for (const Way from : {Way::kLocal, Way::kChannel, Way::kTrunk}) {
        for (const Way to : {Way::kLocal, Way::kChannel, Way::kTrunk}) {
          if (from == to) continue;
          all.push_back({opcode, from, to, false, impairment});
          if (from != Way::kLocal) all.push_back({opcode, from, to, true, impairment});
        }
      }
    }
  }
  return all;
}

std::vector<Change> changes_of_channel() {
  std::vector<Change> some = changes();
  std::erase_if(some, [](const Change& change) {
    return change.from == Way::kLocal || change.to == Way::kLocal;
  });
  return some;
}

// One connection from a to b with requests of one kind, each of which leaves a trace.
class Talk {
 public:
  // `timeout`: 14 is 67 ms.
  Talk(PathChangeRig& rig, WrOpcode opcode, std::uint8_t timeout = 14)
      : rig_(rig), opcode_(opcode) {
    verbs::QpAttributes attributes = default_attributes();
    attributes.timeout = timeout;
    attributes.retry_count = 7;
    attributes.rnr_retry = 7;
    attributes.max_reads = kRequests;
    attributes.max_dest_reads = kRequests;
    rig_.connect(rig_.a(), *a_, rig_.b(), *b_, attributes);
    rig_.a().fill(from_, 5);
    if (opcode_ == WrOpcode::kSendWithInvalidate) register_keys();
    if (takes_receive()) {
      for (std::uint64_t id = 1; id <= kRequests; ++id) {
        b_->post(receive_request(id, {to_.sge((id - 1) * kBytes, kBytes)}));
      }
    }
  }

  void post_all() {
    for (std::uint64_t id = 1; id <= kRequests; ++id) a_->post(request(id));
  }
  std::size_t completed() const { return a_->sends.size(); }

  void expect_all_done_once() {
    ASSERT_EQ(a_->sends.size(), kRequests);
    for (std::uint64_t id = 1; id <= kRequests; ++id) {
      EXPECT_EQ(a_->sends.at(id - 1).wr_id, id);
      EXPECT_EQ(a_->sends.at(id - 1).status, verbs::WcStatus::kSuccess);
    }
    ASSERT_EQ(b_->receives.size(), takes_receive() ? kRequests : 0);
    for (std::uint64_t id = 1; takes_receive() && id <= kRequests; ++id) {
      EXPECT_EQ(b_->receives.at(id - 1).wr_id, id);
      EXPECT_EQ(b_->receives.at(id - 1).status, verbs::WcStatus::kSuccess);
      EXPECT_EQ(b_->receives.at(id - 1).byte_len, kBytes);
      if (has_imm()) {
        EXPECT_EQ(b_->receives.at(id - 1).imm, imm_of(id));
      }
    }
    if (verbs::is_atomic(opcode_)) return expect_atomics();
    const EngineBuffer& target = opcode_ == WrOpcode::kRdmaRead ? from_ : to_;
    EngineVm& vm = opcode_ == WrOpcode::kRdmaRead ? rig_.a() : rig_.b();
    const std::uint8_t seed = opcode_ == WrOpcode::kRdmaRead ? 9 : 5;
    EXPECT_EQ(vm.read(target, 0, target.length), EngineVm::pattern(target.length, seed));
  }

 private:
  bool takes_receive() const {
    return verbs::is_send(opcode_) || opcode_ == WrOpcode::kRdmaWriteWithImm;
  }
  bool has_imm() const {
    return opcode_ == WrOpcode::kSendWithImm || opcode_ == WrOpcode::kRdmaWriteWithImm;
  }
  static verbs::Immediate imm_of(std::uint64_t id) {
    return {std::byte{7}, std::byte{0}, std::byte{0}, static_cast<std::byte>(id)};
  }
  verbs::SendRequest request(std::uint64_t id) {
    const std::uint64_t at = (id - 1) * kBytes;
    const verbs::Sge part = from_.sge(at, kBytes);
    const verbs::Sge result = results_.sge((id - 1) * 8, 8);
    switch (opcode_) {
      case WrOpcode::kRdmaWrite: return write_request(id, {part}, to_.start + at, to_.key);
      case WrOpcode::kRdmaWriteWithImm:
        return with_imm(write_request(id, {part}, to_.start + at, to_.key), imm_of(id));
      case WrOpcode::kSendWithImm: return with_imm(send_request(id, {part}), imm_of(id));
      case WrOpcode::kSendWithInvalidate:
        return with_invalidate(send_request(id, {part}), keys_.at(id - 1));
      case WrOpcode::kRdmaRead: return read_request(id, {part}, to_.start + at, to_.key);
      case WrOpcode::kCompareAndSwap:
        return swap_request(id, result, word_.start, word_.key, id - 1, id);
      case WrOpcode::kFetchAndAdd: return add_request(id, result, word_.start, word_.key, 1);
      case WrOpcode::kSend:
      case WrOpcode::kLocalInvalidate:
      case WrOpcode::kFastRegister: break;
    }
    return send_request(id, {part});
  }
  void expect_atomics() {
    EXPECT_EQ(word(rig_.b(), word_, 0), kRequests);
    for (std::uint64_t i = 0; i < kRequests; ++i) EXPECT_EQ(word(rig_.a(), results_, i * 8), i);
  }
  static std::uint64_t word(EngineVm& vm, const EngineBuffer& buffer, std::uint64_t offset) {
    Le64 value;
    std::memcpy(&value, vm.read(buffer, offset, 8).data(), sizeof value);
    return value.get();
  }
  // Each can be invalidated once.
  void register_keys() {
    verbs::MemoryRegionTable& regions = rig_.b().adapter().regions();
    for (std::uint64_t id = 1; id <= kRequests; ++id) {
      keys_.push_back(*regions.add_fast(rig_.b().pd(), 1));
      b_->post(register_request(id, {.key = keys_.back(),
                                     .access = verbs::kAccessKnown,
                                     .start = 4096,
                                     .length = 4096,
                                     .pages = 1,
                                     .directory = page_.directory.value}));
    }
    EXPECT_TRUE(rig_.run());
  }
  EngineBuffer make_target() {
    EngineBuffer target = rig_.b().buffer(kRequests * kBytes);
    if (opcode_ == WrOpcode::kRdmaRead) rig_.b().fill(target, 9);
    return target;
  }

  PathChangeRig& rig_;
  const WrOpcode opcode_;
  const EngineBuffer from_ = rig_.a().buffer(kRequests * kBytes);
  const EngineBuffer to_ = make_target();
  const EngineBuffer word_ = rig_.b().buffer(8);
  const EngineBuffer results_ = rig_.a().buffer(kRequests * 8);
  const TestPages page_ = rig_.b().ram().scattered_pages(1);
  std::vector<std::uint32_t> keys_;
  std::unique_ptr<EngineQp> a_ = rig_.a().queue_pair();
  std::unique_ptr<EngineQp> b_ = rig_.b().queue_pair();
};

class PathChange : public testing::TestWithParam<Change> {};
INSTANTIATE_TEST_SUITE_P(Each, PathChange, testing::ValuesIn(changes()), name_of);

// Between TCP and RDMA adapters, with both hosts where they are.
class ChannelChange : public PathChange {};
INSTANTIATE_TEST_SUITE_P(Each, ChannelChange, testing::ValuesIn(changes_of_channel()), name_of);

TEST_P(PathChange, AfterAnyTurnNothingIsLostOrDoneTwice) {
  const Change& change = GetParam();
  bool was_under_way = false;
  for (const int turns : {0, 1, 3, 6, 11, 20}) {
    SCOPED_TRACE(turns);
    PathChangeRig rig(change.from, change.impairment);
    Talk talk(rig, change.opcode);
    talk.post_all();
    for (int i = 0; i < turns; ++i) rig.turn({.bytes = 16'384, .operations = 1});
    was_under_way = was_under_way || (turns > 0 && talk.completed() < kRequests);
    rig.choose(change.to);
    if (change.cuts) rig.cut();
    rig.advance(milliseconds(2'000));
    talk.expect_all_done_once();
    if (HasFailure()) return;
  }
  EXPECT_TRUE(was_under_way);
}

// And back, while what was under way on the way there waits.
TEST_P(PathChange, ThereAndBackNothingIsLostOrDoneTwice) {
  const Change& change = GetParam();
  for (const int turns : {1, 4, 9, 15}) {
    SCOPED_TRACE(turns);
    PathChangeRig rig(change.from, change.impairment);
    Talk talk(rig, change.opcode);
    talk.post_all();
    for (const Way way : {change.to, change.from, change.to}) {
      for (int i = 0; i < turns; ++i) rig.turn({.bytes = 16'384, .operations = 1});
      rig.choose(way);
      if (change.cuts) rig.cut();
      rig.advance(milliseconds(70));
    }
    rig.advance(milliseconds(3'000));
    talk.expect_all_done_once();
    if (HasFailure()) return;
  }
}

// Each host notices a trunk independently. The requester chooses the channel, and the responder
// accepts requests from both.
TEST_P(ChannelChange, OneHostKnowsItLater) {
  const Change& change = GetParam();
  for (const unsigned first : {0U, 1U}) {
    for (const int turns : {1, 4, 11}) {
      SCOPED_TRACE(turns);
      PathChangeRig rig(change.from, change.impairment);
      Talk talk(rig, change.opcode);
      talk.post_all();
      for (int i = 0; i < turns; ++i) rig.turn({.bytes = 16'384, .operations = 1});
      rig.choose(change.to, first);
      if (change.cuts) rig.cut();
      for (int i = 0; i < turns; ++i) rig.turn({.bytes = 16'384, .operations = 1});
      rig.choose(change.to, 1 - first);
      rig.advance(milliseconds(2'000));
      talk.expect_all_done_once();
      if (HasFailure()) return;
    }
  }
}

// ---- An adapter that fails ----

TEST(TrunkFailure, AnAdapterThatFailsLosesNothing) {
  for (const unsigned fails : {0U, 1U}) {
    for (const int turns : {1, 4, 9}) {
      SCOPED_TRACE(testing::Message() << "end " << fails << " fails after " << turns << " turns");
      PathChangeRig rig(Way::kTrunk);
      Talk talk(rig, WrOpcode::kSend);
      talk.post_all();
      for (int i = 0; i < turns; ++i) rig.turn({.bytes = 16'384, .operations = 1});
      rig.trunk(fails).fail();
      rig.run();
      EXPECT_EQ(rig.losses(fails), std::vector<std::string>{"the RDMA adapter is gone"});
      rig.choose(Way::kChannel);
      rig.advance(milliseconds(600));  // longer than an end that has nothing to send waits to ask
      EXPECT_EQ(rig.losses(1 - fails), std::vector<std::string>{"the RDMA adapter is gone"});
      talk.expect_all_done_once();
    }
  }
}

// The channel's own clock ends it.
TEST(TrunkFailure, ACompletionThatNeverComesEndsTheTrunk) {
  PathChangeRig rig(Way::kTrunk);
  Talk talk(rig, WrOpcode::kFetchAndAdd, 19);  // 2 s
  talk.post_all();
  rig.trunk(0).hang();
  rig.trunk(1).hang();
  rig.advance(milliseconds(2'900));
  EXPECT_TRUE(rig.losses(0).empty());
  rig.advance(milliseconds(200));
  for (const unsigned side : {0U, 1U}) {
    EXPECT_EQ(rig.losses(side),
              std::vector<std::string>{"nothing was received from the host for 3000 ms"});
  }
  rig.choose(Way::kChannel);
  rig.advance(milliseconds(100));
  talk.expect_all_done_once();
}

// A host of an earlier release knows a connection by its daemon, and only on its own path.
TEST(PathChangeOfOldHosts, TheChannelWorksByTheOldRules) {
  for (const WrOpcode opcode : {WrOpcode::kSend, WrOpcode::kFetchAndAdd, WrOpcode::kRdmaRead}) {
    for (int turns = 0; turns < 24; ++turns) {
      SCOPED_TRACE(turns);
      PathChangeRig rig(Way::kChannel, {}, false);
      Talk talk(rig, opcode);
      talk.post_all();
      for (int i = 0; i < turns; ++i) rig.turn({.bytes = 16'384, .operations = 1});
      rig.cut();
      rig.advance(milliseconds(2'000));
      talk.expect_all_done_once();
    }
  }
}

}  // namespace
}  // namespace paravane::fake
