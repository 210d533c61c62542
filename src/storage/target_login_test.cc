#include "storage/target_login.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "guestmem/payload.h"
#include "testing/held_task_path.h"
#include "testing/srp_target_rig.h"
#include "verbs/grh.h"
#include "wire/srp/login.h"

namespace paravane::storage {
namespace {

using fake::SrpTargetRig;
using testing::HasSubstr;
using Kind = TaskResult::Kind;
using State = TargetLogin::State;

class TargetLoginTest : public testing::Test {
 protected:
  TargetLoginTest() { rig.target.add(0, disk); }
  ~TargetLoginTest() override { login.reset(); }

  void make(TargetAddress address) {
    login = std::make_unique<TargetLogin>(address, rig.surroundings());
    rig.login_of = [this] { return login.get(); };
    rig.pump = [this] { login->pump(rig.now(), 64); };
    ASSERT_TRUE(login->begin(0x1234, rig.now()));
    ASSERT_TRUE(rig.settle());
  }
  void log_in() {
    make(rig.address());
    ASSERT_EQ(login->state(), State::kUp) << login->problem();
  }
  Task read_task(std::uint32_t payload = 0, std::uint32_t blocks = 8) {
    return {.lun = scsi::Lun::of(0),
            .request = scsi::read({.block = 0, .blocks = blocks}, 512),
            .payload = payload};
  }
  Task write_task(std::uint32_t payload = 0, std::uint32_t blocks = 8) {
    return {.lun = scsi::Lun::of(0),
            .request = scsi::write({.block = 0, .blocks = blocks}, 512, scsi::Durability::kCached),
            .payload = payload};
  }
  void execute(const Task& task) {
    login->execute(task, [this](const TaskResult& result) { results.push_back(result); });
  }
  TaskResult run(const Task& task) {
    results.clear();
    execute(task);
    EXPECT_TRUE(rig.settle());
    return results.size() == 1 ? results[0] : TaskResult{.kind = Kind::kOther};
  }
  std::vector<std::byte> payload(std::uint32_t place, std::uint32_t bytes) {
    std::vector<std::byte> all(bytes);
    ExtentList extents;
    EXPECT_TRUE(rig.memory().extents(place, 0, bytes, extents) && gather_payload(extents, all));
    return all;
  }
  void fill(std::uint32_t place, std::span<const std::byte> bytes) {
    ExtentList extents;
    ASSERT_TRUE(rig.memory().extents(place, 0, static_cast<std::uint32_t>(bytes.size()), extents));
    ASSERT_TRUE(scatter_payload(bytes, extents));
  }

  SrpTargetRig rig;
  fake::FakeScsiDisk disk;
  std::unique_ptr<TargetLogin> login;
  std::vector<TaskResult> results;
};

TEST_F(TargetLoginTest, LogsInByInfiniBandsConnectionManager) {
  log_in();
  EXPECT_EQ(rig.requests, 1u);
  EXPECT_EQ(rig.ready, 1u);
  EXPECT_EQ(rig.last_request.service.get(), SrpTargetRig::kService);
  EXPECT_EQ(rig.last_request.starting_psn(), 0x1234u);
  EXPECT_EQ(rig.last_request.local_guid.get(), 0x50u);
  EXPECT_TRUE(login->is_up());
  EXPECT_EQ(login->problem(), "");
}

// Between VMs of a host nothing counts packets; native endpoints do.
TEST_F(TargetLoginTest, EachEndBeginsToSendWithTheNumberThatTheOtherHasTold) {
  log_in();
  const verbs::QueuePair* qp = rig.service().adapter().find_qp(rig.last_request.local_qp());
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(qp->query().receive_psn, rig.last_request.starting_psn());
  EXPECT_EQ(qp->query().send_psn, SrpTargetRig::kStartingPsn);
}

TEST_F(TargetLoginTest, LogsInByRdmasConnectionManager) {
  TargetAddress address = rig.address();
  address.is_by_rdma = true;
  address.service = wire::infiniband::tcp_port_service(5555);
  make(address);
  EXPECT_EQ(login->state(), State::kUp) << login->problem();
  wire::infiniband::IpAddressingHeader header;
  std::memcpy(&header, rig.last_request.private_data.data(), sizeof(header));
  EXPECT_EQ(header.ip(), verbs::is_ipv4_mapped(rig.a().gid()) ? 4 : 6);
  EXPECT_EQ(run(read_task()).kind, Kind::kGood);
}

TEST_F(TargetLoginTest, MovesPayloadBothWays) {
  log_in();
  const std::vector<std::byte> bytes = fake::EngineVm::pattern(4096, 9);
  fill(1, bytes);
  EXPECT_TRUE(run(write_task(1)).is_good());
  EXPECT_TRUE(std::ranges::equal(bytes, disk.bytes().first(4096)));
  EXPECT_TRUE(run(read_task(2)).is_good());
  EXPECT_EQ(payload(2, 4096), bytes);
  EXPECT_EQ(rig.target.bad_accesses, 0u);
}

TEST_F(TargetLoginTest, AnOffsetIsThatInThePayload) {
  log_in();
  const std::vector<std::byte> bytes = fake::EngineVm::pattern(8192, 3);
  fill(0, bytes);
  Task task = write_task();
  task.offset = 4096;
  EXPECT_TRUE(run(task).is_good());
  EXPECT_TRUE(std::ranges::equal(std::span(bytes).subspan(4096), disk.bytes().first(4096)));
}

TEST_F(TargetLoginTest, ALoanEndsWithItsTask) {
  log_in();
  EXPECT_TRUE(run(read_task(1)).is_good());
  const std::vector<std::byte> before = payload(1, 512);
  EXPECT_FALSE(rig.write_to(rig.last_address, rig.last_key, 512));
  EXPECT_EQ(payload(1, 512), before);
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(login->state(), State::kEnded) << "such a target is not spoken to again";
}

TEST_F(TargetLoginTest, SenseAndStatusAreTold) {
  log_in();
  disk.fail_next({.key = scsi::SenseKey::kMedium, .asc = 0x11});
  const TaskResult result = run(read_task());
  EXPECT_EQ(result.kind, Kind::kSense);
  EXPECT_EQ(result.sense.meaning(), scsi::Meaning::kMediumError);
}

TEST_F(TargetLoginTest, ARefusalIsToldInWords) {
  rig.login_reject = static_cast<std::uint32_t>(0x00010001);
  make(rig.address());
  EXPECT_EQ(login->state(), State::kRefused);
  EXPECT_NE(login->problem(), "");
  EXPECT_FALSE(login->is_service_unknown());
}

TEST_F(TargetLoginTest, AnUnknownServiceIsKnownAsSuch) {
  rig.unknown_services.insert(SrpTargetRig::kService);
  make(rig.address());
  EXPECT_EQ(login->state(), State::kRefused);
  EXPECT_TRUE(login->is_service_unknown());
}

TEST_F(TargetLoginTest, ASilentTargetIsRefusedInTime) {
  rig.is_silent = true;
  make(rig.address());
  EXPECT_EQ(login->state(), State::kConnecting);
  rig.pass(std::chrono::seconds(70));
  EXPECT_EQ(login->state(), State::kRefused);
  EXPECT_THAT(login->problem(), HasSubstr("no answer"));
}

TEST_F(TargetLoginTest, AnAnswerThatIsNoneRefusesTheLogin) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{16}, std::size_t{196}}) {
    rig.login_answer = std::vector<std::byte>(bytes, std::byte{0xFF});
    make(rig.address());
    EXPECT_EQ(login->state(), State::kRefused) << bytes;
    EXPECT_NE(login->problem(), "");
    login.reset();
  }
  EXPECT_EQ(rig.rejected, 3u);
}

TEST_F(TargetLoginTest, ATargetThatPromisesTooMuchIsRefused) {
  rig.request_limit = srp::kMostRequestLimit + 1;
  make(rig.address());
  EXPECT_EQ(login->state(), State::kRefused);
}

TEST_F(TargetLoginTest, CommandsWaitForCredits) {
  rig.request_limit = 3;
  log_in();
  rig.target.hold();
  for (std::uint32_t i = 0; i < 4; ++i) execute(read_task(i));
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.target.held(), 2u) << "one credit is left for task management";
  rig.target.release();
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(results.size(), 4u);
  for (const TaskResult& result : results) EXPECT_TRUE(result.is_good());
}

TEST_F(TargetLoginTest, MoreCommandsThanMayBeUnderWayWait) {
  log_in();
  rig.target.hold();
  const Task task{.lun = scsi::Lun::of(0), .request = scsi::test_unit_ready()};
  for (std::size_t i = 0; i < 2 * TargetLogin::kMostCommands; ++i) execute(task);
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.target.held(), TargetLogin::kMostCommands);
  rig.target.release();
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(results.size(), 2 * TargetLogin::kMostCommands);
}

TEST_F(TargetLoginTest, ACommandWithoutAnAnswerIsAborted) {
  log_in();
  rig.target.hold();
  execute(write_task());
  rig.pass(TargetLogin::kPatience.command - std::chrono::seconds(1));
  EXPECT_TRUE(results.empty());
  rig.pass(std::chrono::seconds(2));
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].kind, Kind::kAborted);
  EXPECT_TRUE(login->is_up());
}

TEST_F(TargetLoginTest, ATargetThatAnswersNothingLosesTheLoginInTimeAndKeysEndFirst) {
  log_in();
  rig.target.hold();
  rig.target.management_answer = std::nullopt;
  bool was_lent = true;
  login->execute(write_task(), [&](const TaskResult& result) {
    results.push_back(result);
    was_lent = rig.write_to(rig.last_address, rig.last_key, 16);
  });
  execute(read_task(1));
  rig.pass(TargetLogin::kPatience.command + TargetLogin::kPatience.abort +
           TargetLogin::kPatience.reset - std::chrono::seconds(1));
  EXPECT_TRUE(login->is_up());
  EXPECT_TRUE(results.empty());
  rig.pass(std::chrono::seconds(2));
  EXPECT_EQ(login->state(), State::kEnded);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].kind, Kind::kLost);
  EXPECT_EQ(results[1].kind, Kind::kLost);
  EXPECT_FALSE(was_lent);
}

TEST_F(TargetLoginTest, ARefusedAbortIsFollowedByAResetAndThatByTheEnd) {
  log_in();
  rig.target.hold();
  rig.target.management_answer = wire::srp::ResponseCode::kFailed;
  execute(write_task());
  rig.pass(TargetLogin::kPatience.command + std::chrono::seconds(1));
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].kind, Kind::kLost);
  EXPECT_EQ(login->state(), State::kEnded);
}

TEST_F(TargetLoginTest, ResetsAUnitAndEndsItsTasks) {
  log_in();
  rig.target.hold();
  execute(write_task());
  ASSERT_TRUE(rig.settle());
  login->reset_unit(scsi::Lun::of(0),
                    [this](const TaskResult& result) { results.push_back(result); });
  EXPECT_TRUE(results.empty()) << "never from within";
  ASSERT_TRUE(rig.settle());
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].kind, Kind::kAborted);
  EXPECT_EQ(results[1].kind, Kind::kGood);
}

TEST_F(TargetLoginTest, ARefusedResetIsTold) {
  log_in();
  rig.target.management_answer = wire::srp::ResponseCode::kNotSupported;
  login->reset_unit(scsi::Lun::of(0),
                    [this](const TaskResult& result) { results.push_back(result); });
  ASSERT_TRUE(rig.settle());
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].kind, Kind::kOther);
  EXPECT_TRUE(login->is_up());
}

TEST_F(TargetLoginTest, AResetWithoutAnAnswerEndsTheLogin) {
  log_in();
  rig.target.management_answer = std::nullopt;
  login->reset_unit(scsi::Lun::of(0),
                    [this](const TaskResult& result) { results.push_back(result); });
  rig.pass(TargetLogin::kPatience.command + std::chrono::seconds(1));
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].kind, Kind::kLost);
  EXPECT_EQ(login->state(), State::kEnded);
}

TEST_F(TargetLoginTest, ATargetThatLiesLosesTheLogin) {
  for (auto lie = fake::SrpLie::kTwice; lie < fake::SrpLie::kNoResponseData;
       lie = static_cast<fake::SrpLie>(static_cast<int>(lie) + 1)) {
    log_in();
    results.clear();
    rig.target.lie(lie);
    execute(read_task());
    ASSERT_TRUE(rig.settle());
    EXPECT_EQ(login->state(), State::kEnded) << static_cast<int>(lie);
    EXPECT_EQ(results.size(), 1u) << static_cast<int>(lie);
    login.reset();
    ASSERT_TRUE(rig.settle());
  }
}

TEST_F(TargetLoginTest, AWriteWithImmediateDataEndsTheLogin) {
  log_in();
  rig.target.hold();
  execute(read_task());
  ASSERT_TRUE(rig.settle());
  rig.qp().post(fake::with_imm(
      fake::write_request(99, {rig.scratch().sge(0, 8)}, rig.last_address, rig.last_key), {}));
  rig.run();
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(login->state(), State::kEnded);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].kind, Kind::kLost);
}

TEST_F(TargetLoginTest, AMessageThatIsTooLongEndsTheLogin) {
  log_in();
  rig.send_raw(2048);
  rig.run();
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(login->state(), State::kEnded);
}

TEST_F(TargetLoginTest, APeerThatDisconnectsLosesAllTasks) {
  log_in();
  rig.target.hold();
  execute(write_task());
  ASSERT_TRUE(rig.settle());
  rig.disconnect();
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(login->state(), State::kEnded);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].kind, Kind::kLost);
  EXPECT_FALSE(rig.write_to(rig.last_address, rig.last_key, 16));
}

TEST_F(TargetLoginTest, ALogoutOfTheTargetEndsIt) {
  log_in();
  rig.target.log_out(wire::srp::LogoutReason::kInactive);
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(login->state(), State::kEnded);
  EXPECT_THAT(login->problem(), HasSubstr("ended the login"));
}

TEST_F(TargetLoginTest, ATargetThatIsGoneEndsItInTime) {
  log_in();
  rig.drop_qp();
  execute(read_task());
  rig.pass(std::chrono::seconds(60));
  EXPECT_EQ(login->state(), State::kEnded);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].kind, Kind::kLost);
}

TEST_F(TargetLoginTest, ItsEndLogsOutAndGivesWaitingTasksBack) {
  rig.request_limit = 2;
  log_in();
  rig.target.hold();
  for (std::uint32_t i = 0; i < 3; ++i) execute(read_task(i));
  ASSERT_TRUE(rig.settle());
  login->end("enough", rig.now());
  EXPECT_EQ(results.size(), 3u);
  EXPECT_EQ(login->problem(), "enough");
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.disconnects, 1u);
  login->end("again", rig.now());
  EXPECT_EQ(login->problem(), "enough");
}

TEST_F(TargetLoginTest, TasksThatSendOthersWhenTheyAreLostDoNoHarm) {
  log_in();
  rig.target.hold();
  login->execute(read_task(), [this](const TaskResult& result) {
    results.push_back(result);
    EXPECT_FALSE(login->is_up());
  });
  ASSERT_TRUE(rig.settle());
  login->end("enough", rig.now());
  EXPECT_EQ(results.size(), 1u);
}

TEST_F(TargetLoginTest, EventsOfTheTargetAreHeeded) {
  log_in();
  rig.target.report_event(scsi::Lun::of(0),
                          {.key = scsi::SenseKey::kUnitAttention, .asc = 0x3F, .ascq = 0x0E});
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.looks, 1u);
  EXPECT_EQ(rig.target.answers_heard, 1u);
  rig.target.report_event(scsi::Lun::of(0), {.key = scsi::SenseKey::kUnitAttention, .asc = 0x29});
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.looks, 1u);
}

TEST_F(TargetLoginTest, ItsPlacesAndTimersComeBack) {
  const std::size_t messages = rig.memory().messages().free();
  log_in();
  rig.target.hold();
  execute(read_task());
  ASSERT_TRUE(rig.settle());
  login.reset();
  EXPECT_EQ(results.size(), 1u);
  EXPECT_EQ(rig.memory().messages().free(), messages);
}

}  // namespace
}  // namespace paravane::storage
