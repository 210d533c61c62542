// The data path with memory that fails at one allocation after the other. A VM whose turn broke off
// loses its adapter; its peer gets its answers, and the others are served as before.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "testing/log_capture.h"
#include "traffic_stage.h"

namespace paravane::fake {
namespace {

constexpr std::uint32_t kShort = 100;
constexpr std::uint32_t kScattered = 60'000;      // some 15 pages, no two in a row
constexpr std::uint32_t kLong = 5u * 128 * 1024;  // slices in turns of the transport

PartyOptions scattered(std::uint64_t buffer_bytes) {
  return {.end = {.buffer_bytes = buffer_bytes, .memory = {.layout = Layout::kScattered}}};
}

TrafficAct receives(unsigned count, std::uint32_t bytes) {
  return [=](TrafficStage& stage) {
    stage.sender().buffer().fill_pattern(3);
    for (unsigned i = 0; i < count; ++i) {
      EXPECT_TRUE(stage.receiver().receive(std::uint64_t{i} * bytes, bytes));
    }
  };
}

TrafficAct fill() {
  return receives(0, 0);
}

// Each from its own place to the same place.
TrafficAct sends(unsigned count, std::uint32_t opcode, std::uint32_t bytes) {
  return [=](TrafficStage& stage) {
    for (unsigned i = 0; i < count; ++i) {
      const std::uint64_t offset = std::uint64_t{i} * bytes;
      FakeMr& target = stage.receiver().buffer();
      stage.sender().send(
          {.opcode = opcode, .remote_addr = target.va() + offset, .rkey = target.rkey}, offset,
          bytes);
    }
  };
}

TrafficAct equal_bytes(std::uint32_t bytes) {
  return [=](TrafficStage& stage) {
    EXPECT_EQ(stage.sender().buffer().load(0, bytes), stage.receiver().buffer().load(0, bytes));
    EXPECT_NE(stage.sender().buffer().load(0, bytes), std::vector<std::byte>(bytes));
    EXPECT_EQ(stage.sender().failed() + stage.receiver().failed(), 0u);
  };
}

class TrafficScarcity : public ::testing::Test {
 protected:
  // Until no allocation fails any more; it returns how many did.
  unsigned run_with_less_and_less(const Traffic& traffic) {
    unsigned failures = 0;
    unsigned lost = 0;
    unsigned overruns = 0;
    unsigned broken_off = 0;
    for (std::uint64_t number = 1;; ++number) {
      SCOPED_TRACE(number);
      TrafficStage stage(traffic);
      const bool has_failed = stage.run_acts(number);
      stage.expect_contained();
      stage.expect_answers();
      const bool has_overrun = stage.has_overrun(0) || stage.has_overrun(1);
      if (stage.any_lost()) ++lost;
      if (has_overrun) ++overruns;
      broken_off += stage.rig().broken_off();
      if (!stage.any_lost() && !has_overrun) traffic.check(stage);
      stage.expect_service();
      if (!has_failed || HasFailure()) break;
      ++failures;
    }
    RecordProperty("failed_allocations", static_cast<int>(failures));
    RecordProperty("lost_adapters", static_cast<int>(lost));
    RecordProperty("turns_of_the_transport_broken_off", static_cast<int>(broken_off));
    RecordProperty("overruns", static_cast<int>(overruns));
    return failures;
  }

  const LogCapture log_;
};

// Carried and told without a single allocation, from the first message on.
TEST_F(TrafficScarcity, ShortSendTakesNoMemory) {
  EXPECT_EQ(run_with_less_and_less({.prepare = receives(4, kShort),
                                    .acts = {sends(4, PVRDMA_WR_SEND, kShort)},
                                    .check = equal_bytes(4 * kShort)}),
            0u);
}

// The kernel's arms are exact: it has no late events.
TEST_F(TrafficScarcity, ShortSendToKernelTakesNoMemory) {
  EXPECT_EQ(run_with_less_and_less({.receiver = {.end = {.kernel = true}},
                                    .prepare = receives(4, kShort),
                                    .acts = {sends(4, PVRDMA_WR_SEND, kShort)},
                                    .check = equal_bytes(4 * kShort)}),
            0u);
}

TEST_F(TrafficScarcity, ScatteredSend) {
  EXPECT_GT(run_with_less_and_less({.sender = scattered(2 * kScattered),
                                    .receiver = scattered(2 * kScattered),
                                    .prepare = receives(2, kScattered),
                                    .acts = {sends(2, PVRDMA_WR_SEND, kScattered)},
                                    .check = equal_bytes(2 * kScattered)}),
            0u);
}

TEST_F(TrafficScarcity, LongSend) {
  EXPECT_GT(run_with_less_and_less({.sender = scattered(kLong),
                                    .receiver = scattered(kLong),
                                    .prepare = receives(1, kLong),
                                    .acts = {sends(1, PVRDMA_WR_SEND, kLong)},
                                    .check = equal_bytes(kLong)}),
            0u);
}

TEST_F(TrafficScarcity, ShortWriteReadAndAtomicTakeNoMemory) {
  EXPECT_EQ(
      run_with_less_and_less(
          {.prepare = fill(),
           .acts = {sends(4, PVRDMA_WR_RDMA_WRITE, kShort), sends(4, PVRDMA_WR_RDMA_READ, kShort),
                    sends(2, PVRDMA_WR_ATOMIC_FETCH_AND_ADD, 8)},
           .check = [](TrafficStage& stage) { EXPECT_EQ(stage.sender().succeeded(), 10u); }}),
      0u);
}

TEST_F(TrafficScarcity, ScatteredWrite) {
  EXPECT_GT(run_with_less_and_less({.sender = scattered(2 * kScattered),
                                    .receiver = scattered(2 * kScattered),
                                    .prepare = fill(),
                                    .acts = {sends(2, PVRDMA_WR_RDMA_WRITE, kScattered)},
                                    .check = equal_bytes(2 * kScattered)}),
            0u);
}

TEST_F(TrafficScarcity, WriteOfManyPieces) {
  PartyOptions sender;
  sender.end.queues.max_send_sge = 8;
  const TrafficAct write = [](TrafficStage& stage) {
    FakeMr& target = stage.receiver().buffer();
    std::array<pvrdma_sge, 8> sges{};
    for (unsigned i = 0; i < sges.size(); ++i) {
      sges[i] = stage.sender().buffer().sge(std::uint64_t{i} * kShort, kShort);
    }
    stage.sender().send_sges(
        {.opcode = PVRDMA_WR_RDMA_WRITE, .remote_addr = target.va(), .rkey = target.rkey}, sges);
  };
  EXPECT_GT(
      run_with_less_and_less(
          {.sender = sender, .prepare = fill(), .acts = {write}, .check = equal_bytes(8 * kShort)}),
      0u);
}

TEST_F(TrafficScarcity, LongWrite) {
  EXPECT_GT(run_with_less_and_less({.sender = scattered(kLong),
                                    .receiver = scattered(kLong),
                                    .prepare = fill(),
                                    .acts = {sends(1, PVRDMA_WR_RDMA_WRITE, kLong)},
                                    .check = equal_bytes(kLong)}),
            0u);
}

// Its second slice is of more pieces than the first, and found in a turn of the transport.
TEST_F(TrafficScarcity, LongWriteWithPiecesThatComeLate) {
  constexpr std::uint32_t kHalf = 256 * 1024;
  PartyOptions party;
  party.end.buffer_bytes = 2 * kHalf;
  party.end.queues.max_send_sge = 2;
  FakeMr* rest = nullptr;
  const TrafficAct prepare = [&](TrafficStage& stage) {
    stage.sender().buffer().fill_pattern(3);
    rest = &stage.rig().guest(0).register_memory(stage.sender().end().pd(), kHalf,
                                                 {.layout = Layout::kScattered});
    rest->fill_pattern(4);
  };
  const TrafficAct write = [&](TrafficStage& stage) {
    FakeMr& target = stage.receiver().buffer();
    const std::array sges{stage.sender().buffer().sge(0, kHalf), rest->sge()};
    stage.sender().send_sges(
        {.opcode = PVRDMA_WR_RDMA_WRITE, .remote_addr = target.va(), .rkey = target.rkey}, sges);
  };
  const auto check = [&](TrafficStage& stage) {
    FakeMr& target = stage.receiver().buffer();
    EXPECT_EQ(target.load(0, kHalf), stage.sender().buffer().load(0, kHalf));
    EXPECT_EQ(target.load(kHalf, kHalf), rest->load(0, kHalf));
  };
  EXPECT_GT(run_with_less_and_less({.sender = party,
                                    .receiver = party,
                                    .prepare = prepare,
                                    .acts = {write},
                                    .check = check}),
            0u);
}

// The transport hears in the middle that there is no way any more; there is one again later.
TEST_F(TrafficScarcity, LongWriteWhoseWayIsInterrupted) {
  constexpr std::uint32_t kVeryLong = 1536 * 1024;
  const PartyOptions party{.end = {.buffer_bytes = kVeryLong}};
  const TrafficAct write = [](TrafficStage& stage) {
    sends(1, PVRDMA_WR_RDMA_WRITE, kVeryLong)(stage);
    if (stage.rig().run_into_message()) stage.rig().set_link(1, false);
  };
  const TrafficAct link = [](TrafficStage& stage) { stage.rig().set_link(1, true); };
  EXPECT_GT(run_with_less_and_less({.sender = party,
                                    .receiver = party,
                                    .prepare = fill(),
                                    .acts = {write, link},
                                    .check = equal_bytes(kVeryLong)}),
            0u);
}

TEST_F(TrafficScarcity, LongRead) {
  EXPECT_GT(run_with_less_and_less({.sender = scattered(kLong),
                                    .receiver = scattered(kLong),
                                    .prepare =
                                        [](TrafficStage& stage) {
                                          stage.receiver().buffer().fill_pattern(5);
                                          stage.sender().buffer().fill(std::byte{0});
                                        },
                                    .acts = {sends(1, PVRDMA_WR_RDMA_READ, kLong)},
                                    .check = equal_bytes(kLong)}),
            0u);
}

// The answer goes to two pages, so the transport carries it.
TEST_F(TrafficScarcity, AtomicIntoTwoPages) {
  const TrafficAct add = [](TrafficStage& stage) {
    FakeMr& target = stage.receiver().buffer();
    stage.sender().send({.opcode = PVRDMA_WR_ATOMIC_FETCH_AND_ADD,
                         .remote_addr = target.va(),
                         .rkey = target.rkey,
                         .compare_add = 5},
                        kPage - 4, 8);
  };
  const auto check = [](TrafficStage& stage) {
    EXPECT_EQ(stage.receiver().buffer().load(0, 1).front(), std::byte{10});
    EXPECT_EQ(stage.sender().buffer().load(kPage - 4, 1).front(), std::byte{5});
  };
  EXPECT_GT(
      run_with_less_and_less({.sender = scattered(2 * kPage), .acts = {add, add}, .check = check}),
      0u);
}

// Three from that place to the first receives.
TrafficAct datagrams(std::uint64_t from, std::uint32_t bytes) {
  return [=](TrafficStage& stage) {
    const pvrdma_av av =
        stage.rig().guest(0).address_vector(stage.sender().end().pd(), stage.rig().guest(1).gid());
    for (unsigned i = 0; i < 3; ++i) {
      stage.sender().send(
          {.remote_qpn = stage.receiver().qp().number, .remote_qkey = kTrafficQkey, .av = &av},
          from, bytes);
    }
  };
}

TrafficAct arrived(std::uint64_t from, std::uint32_t bytes) {
  return [=](TrafficStage& stage) {
    EXPECT_EQ(stage.receiver().succeeded(), 3u);
    EXPECT_EQ(stage.sender().buffer().load(from, bytes), stage.receiver().buffer().load(40, bytes));
  };
}

PartyOptions of_datagrams(PartyOptions party) {
  party.end.queues.type = kTypeUd;
  return party;
}

TEST_F(TrafficScarcity, ShortDatagramTakesNoMemory) {
  EXPECT_EQ(run_with_less_and_less({.sender = of_datagrams({}),
                                    .receiver = of_datagrams({}),
                                    .prepare = receives(4, 40 + kShort),
                                    .acts = {datagrams(0, kShort)},
                                    .check = arrived(0, kShort)}),
            0u);
}

TEST_F(TrafficScarcity, ScatteredDatagrams) {
  constexpr std::uint32_t kBytes = 2048;
  constexpr std::uint64_t kFrom = kPage - kBytes / 2;
  EXPECT_GT(run_with_less_and_less({.sender = of_datagrams(scattered(4 * kPage)),
                                    .receiver = of_datagrams(scattered(4 * kPage)),
                                    .prepare = receives(4, 40 + kBytes),
                                    .acts = {datagrams(kFrom, kBytes)},
                                    .check = arrived(kFrom, kBytes)}),
            0u);
}

TEST_F(TrafficScarcity, SharedReceiveQueue) {
  EXPECT_GT(run_with_less_and_less({.receiver = {.has_srq = true, .srq_limit = 4},
                                    .prepare = receives(5, kShort),
                                    .acts = {sends(3, PVRDMA_WR_SEND, kShort)},
                                    .check = equal_bytes(3 * kShort)}),
            0u);
}

// Of both ends: half of the completions do not fit in.
TEST_F(TrafficScarcity, CompletionsThatWaitForRoom) {
  const PartyOptions party{.end = {.cq_entries = 4}};
  const TrafficAct drain = [](TrafficStage& stage) {
    stage.sender().drain();
    stage.receiver().drain();
  };
  EXPECT_GT(run_with_less_and_less({.sender = party,
                                    .receiver = party,
                                    .prepare = receives(7, kShort),
                                    .acts = {sends(7, PVRDMA_WR_SEND, kShort), drain, drain},
                                    .check = equal_bytes(7 * kShort)}),
            0u);
}

TEST_F(TrafficScarcity, ReceiverThatIsNotReady) {
  const TrafficAct receive = [](TrafficStage& stage) {
    stage.receiver().receive(0, kShort);
    stage.receiver().receive(kShort, kShort);
  };
  EXPECT_GT(run_with_less_and_less({.prepare = fill(),
                                    .acts = {sends(2, PVRDMA_WR_SEND, kShort), receive},
                                    .check = equal_bytes(2 * kShort)}),
            0u);
}

// A write with a wrong key takes both queue pairs to ERR.
TEST_F(TrafficScarcity, FlushAfterAnError) {
  const TrafficAct write = [](TrafficStage& stage) {
    stage.sender().send({.opcode = PVRDMA_WR_RDMA_WRITE,
                         .remote_addr = stage.receiver().buffer().va(),
                         .rkey = 0xBAD},
                        0, kShort);
    for (int i = 0; i < 5; ++i) stage.sender().send({}, 0, kShort);
  };
  const auto check = [](TrafficStage& stage) {
    EXPECT_EQ(stage.sender().failed(), 6u);
    EXPECT_EQ(stage.receiver().failed(), 5u);
  };
  EXPECT_GT(
      run_with_less_and_less({.prepare = receives(5, kShort), .acts = {write}, .check = check}),
      0u);
}

}  // namespace
}  // namespace paravane::fake
