// What one keeper leaves to the next: read as it was written, and refused when it cannot be.

#include "keeper/keeper_record.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "keeper/keeper_exec.h"
#include "keeper/sealed_file.h"
#include "privsep/parcel.h"
#include "privsep/process_link.h"
#include "state/writer.h"

namespace paravane::keeper {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::HasSubstr;

KeeperRecord full_record() {
  return {.version = "0.4.0",
          .program = "/usr/sbin/paravaned",
          .config_file = "/etc/paravane/paravaned.toml",
          .config_text = "[log]\nlevel = \"info\"\n",
          .account = {.user = settings::EngineAccount::User{.uid = 990, .gid = 991},
                      .api_group = 0,
                      .vm_group = 992,
                      .umad_group = 993},
          .log_level = "debug",
          .told_ready = true,
          .engine = {.pid = 4711, .line = 8},
          .holder = KeeperRecord::Child{.pid = 4710, .line = 5},
          .holders_ended = 3,
          .succession = {.version = "0.5.0",
                         .earliest = Instant(hours(2)),
                         .recoveries = 4,
                         .last_recovery = Instant(hours(1))},
          .etcd = {.reach = privsep::EtcdReach::kCluster,
                   .engine_begins = true,
                   .pid = 4712,
                   .started = Instant(seconds(5)),
                   .next_try = Instant(seconds(9)),
                   .pause = seconds(2),
                   .log = 11},
          .switches = SwitchFollower::Saved{
              .number = "7",
              .plan =
                  privsep::SwitchPlan{
                      .switches = {{.name = "lan", .mtu = 9000, .uplink = "nic", .vlans = {0, 5}}},
                      .taps = {{.vm = "db1", .vds = "lan", .vlan = 5}}},
              .untold = {{.vds = "lan", .interface = "pv-lan", .text = "it was down"}},
              .known = {{"nic", {.index = 3, .kind = "e1000", .mac = "02:00", .own_mac = "02:01"}},
                        {"nic2", {}}}}};
}

KeeperRecord small_record() {
  KeeperRecord record;
  record.version = "0.4.0";
  record.engine = {.pid = 4711, .line = 3};
  record.succession.version = "0.4.0";
  return record;
}

void expect_equal(const KeeperRecord& one, const KeeperRecord& other) {
  EXPECT_EQ(one.version, other.version);
  EXPECT_EQ(one.program, other.program);
  EXPECT_EQ(one.config_file, other.config_file);
  EXPECT_EQ(one.config_text, other.config_text);
  ASSERT_EQ(one.account.user.has_value(), other.account.user.has_value());
  if (one.account.user) {
    EXPECT_EQ(one.account.user->uid, other.account.user->uid);
    EXPECT_EQ(one.account.user->gid, other.account.user->gid);
  }
  EXPECT_EQ(one.account.api_group, other.account.api_group);
  EXPECT_EQ(one.account.vm_group, other.account.vm_group);
  EXPECT_EQ(one.account.umad_group, other.account.umad_group);
  EXPECT_EQ(one.log_level, other.log_level);
  EXPECT_EQ(one.told_ready, other.told_ready);
  EXPECT_EQ(one.engine, other.engine);
  EXPECT_EQ(one.holder, other.holder);
  EXPECT_EQ(one.holders_ended, other.holders_ended);
  EXPECT_EQ(one.succession, other.succession);
  EXPECT_EQ(one.etcd, other.etcd);
  ASSERT_EQ(one.switches.has_value(), other.switches.has_value());
  if (!one.switches) return;
  EXPECT_EQ(one.switches->number, other.switches->number);
  EXPECT_EQ(one.switches->plan, other.switches->plan);
  EXPECT_EQ(one.switches->untold, other.switches->untold);
  ASSERT_EQ(one.switches->known.size(), other.switches->known.size());
  for (const auto& [name, nic] : one.switches->known) {
    const auto found = other.switches->known.find(name);
    ASSERT_NE(found, other.switches->known.end());
    EXPECT_EQ(found->second.index, nic.index);
    EXPECT_EQ(found->second.kind, nic.kind);
    EXPECT_EQ(found->second.mac, nic.mac);
    EXPECT_EQ(found->second.own_mac, nic.own_mac);
  }
}

TEST(KeeperRecordTest, IsReadAsItIsWritten) {
  for (const KeeperRecord& record : {full_record(), small_record()}) {
    const auto bytes = write_keeper_record(record);
    const auto read = read_keeper_record(bytes);
    ASSERT_TRUE(read) << read.error().message;
    expect_equal(*read, record);
    EXPECT_EQ(write_keeper_record(*read), bytes);
  }
}

TEST(KeeperRecordTest, HasAllDescriptors) {
  EXPECT_THAT(full_record().descriptors(), testing::UnorderedElementsAre(5, 8, 11));
  EXPECT_THAT(small_record().descriptors(), testing::ElementsAre(3));
}

TEST(KeeperRecordTest, IsRefusedWhereverItIsCut) {
  const auto bytes = write_keeper_record(full_record());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<long>(length));
    // The switches are last, and may be left out.
    const auto read = read_keeper_record(cut);
    EXPECT_TRUE(!read || !read->switches) << length;
  }
  EXPECT_FALSE(read_keeper_record({}));
}

// Under sanitizers: nothing else than a record or a refusal.
TEST(KeeperRecordTest, IsHarmlessWithAnyByteChanged) {
  const auto bytes = write_keeper_record(full_record());
  int refused = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xFF}) {
      auto changed = bytes;
      changed[at] ^= std::byte(flip);
      const auto read = read_keeper_record(changed);
      refused += read ? 0 : 1;
      if (read) {
        EXPECT_LE(read->succession.recoveries, Succession::kMostRecoveries);
      }
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(KeeperRecordTest, IsRefusedWithWhatNoneMayHave) {
  const std::vector<std::pair<const char*, std::function<void(KeeperRecord&)>>> wrongs = {
      {"8.1: 18446744073709551615 is above", [](auto& it) { it.engine.pid = -1; }},
      {"8: no process", [](auto& it) { it.engine.pid = 1; }},
      {"8: no process", [](auto& it) { it.engine.pid = 0; }},
      {"8.2: is missing", [](auto& it) { it.engine.line = -1; }},
      {"9: no process", [](auto& it) { it.holder->pid = 1; }},
      {"a descriptor twice", [](auto& it) { it.holder->line = it.engine.line; }},
      {"a standard stream", [](auto& it) { it.etcd.log = STDERR_FILENO; }},
      {"8.2: 1048576 is above", [](auto& it) { it.engine.line = 1 << 20; }},
      {"5: the engine cannot be root", [](auto& it) { it.account.user->uid = 0; }},
      {"11.3: 9 is above 8", [](auto& it) { it.succession.recoveries = 9; }},
      {"12: a pause that is too long", [](auto& it) { it.etcd.pause = seconds(31); }},
      {"12: no process", [](auto& it) { it.etcd.pid = 1; }},
      {"4: 2097153 bytes", [](auto& it) { it.config_text.assign((2 << 20) + 1, '#'); }},
      {"1: 256 bytes", [](auto& it) { it.version.assign(256, '1'); }},
      {"13: ", [](auto& it) { it.switches->plan->switches[0].name = "no name"; }},
      {"13.4: too many NICs",
       [](auto& it) {
         for (int i = 0; i < 1024; ++i) it.switches->known[std::to_string(i)] = {};
       }},
  };
  for (const auto& [why, spoil] : wrongs) {
    KeeperRecord record = full_record();
    spoil(record);
    const auto read = read_keeper_record(write_keeper_record(record));
    ASSERT_FALSE(read) << why;
    EXPECT_THAT(read.error().message, HasSubstr(why));
  }
}

TEST(KeeperRecordTest, OfALaterReleaseIsReadUnlessItMustBeUnderstood) {
  auto bytes = write_keeper_record(small_record());
  const auto add = [&bytes](state::Tag tag) {
    state::Writer more;
    more.flag(tag, true);
    auto longer = bytes;
    const auto added = more.take();
    longer.insert(longer.end(), added.begin(), added.end());
    return longer;
  };
  EXPECT_TRUE(read_keeper_record(add(state::Tag{14 | state::kMayBeSkipped})));
  EXPECT_FALSE(read_keeper_record(add(state::Tag{14})));
}

// ---- What is named in it must be there ----

class KeeperExecTest : public testing::Test {
 protected:
  void SetUp() override {
    line_ = std::move((*privsep::ParcelLine::make())[0]);
    record_ = small_record();
    record_.engine = {.pid = start_child(), .line = line_.get()};
  }
  void TearDown() override {
    for (const pid_t child : children_) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }
  pid_t start_child() {
    const pid_t child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
    children_.push_back(child);
    return child;
  }
  Result<KeeperRecord> open() {
    file_ = *make_sealed_file("record", write_keeper_record(record_));
    return open_keeper_record({.record = file_.get()});
  }
  std::string refusal() {
    const auto opened = open();
    return opened ? "" : opened.error().message;
  }

  UniqueFd line_;
  UniqueFd file_;
  KeeperRecord record_;
  std::vector<pid_t> children_;
};

TEST_F(KeeperExecTest, OpensWhatIsThere) {
  const auto opened = open();
  ASSERT_TRUE(opened) << opened.error().message;
  expect_equal(*opened, record_);
}

TEST_F(KeeperExecTest, OpensARecordWhoseEngineHasJustEnded) {
  ::kill(record_.engine.pid, SIGKILL);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(record_.engine.pid), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(open());
}

TEST_F(KeeperExecTest, RefusesProcessesThatAreNoChildren) {
  record_.engine.pid = ::getppid();
  EXPECT_EQ(refusal(), "the engine is not there");
  record_.engine.pid = children_[0];
  record_.holder = KeeperRecord::Child{.pid = ::getppid(), .line = 900};
  EXPECT_EQ(refusal(), "the holder is not there");
  record_.holder.reset();
  record_.etcd.pid = ::getppid();
  EXPECT_EQ(refusal(), "etcd is not there");
}

TEST_F(KeeperExecTest, RefusesDescriptorsOfAnotherKind) {
  const UniqueFd file(::open("/dev/null", O_RDWR | O_CLOEXEC));
  record_.engine.line = file.get();
  EXPECT_EQ(refusal(), "the engine is not there");
  record_.engine.line = line_.get();
  record_.etcd.log = file.get();
  EXPECT_EQ(refusal(), "etcd's log is not there");
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reads(ends[0]);
  const UniqueFd writes(ends[1]);
  record_.etcd.log = reads.get();
  EXPECT_EQ(refusal(), "");
}

TEST_F(KeeperExecTest, RefusesAFileThatCouldChange) {
  EXPECT_FALSE(open_keeper_record({.record = 900}));
  EXPECT_FALSE(open_keeper_record({.record = line_.get()}));
  const UniqueFd file(::memfd_create("record", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto bytes = write_keeper_record(record_);
  ASSERT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  const auto opened = open_keeper_record({.record = file.get()});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message, "the file is not sealed");
}

TEST_F(KeeperExecTest, AProgramThatCannotBeExecutedChangesNothing) {
  const UniqueFd program(::open("/dev/null", O_PATH | O_CLOEXEC));
  record_.program = "/usr/sbin/paravaned";
  EXPECT_EQ(replace_keeper(program, record_).message,
            "cannot execute /usr/sbin/paravaned: Permission denied");
  EXPECT_EQ(::fcntl(line_.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_TRUE(open());
}

TEST_F(KeeperExecTest, ARecordThatCouldNotBeReadIsNotLeft) {
  const UniqueFd program(::open("/bin/true", O_PATH | O_CLOEXEC));
  record_.config_text.assign((2 << 20) + 1, '#');
  EXPECT_THAT(replace_keeper(program, record_).message, HasSubstr("the state is refused: 4"));
}

}  // namespace
}  // namespace paravane::keeper
