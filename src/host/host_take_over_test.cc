// What an engine that takes over does with states that cannot be true.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/event_log.h"
#include "host/host.h"
#include "testing/log_capture.h"
#include "testing/temp_dir.h"

namespace paravane::host {
namespace {

using testing::HasSubstr;

class HostTakeOverTest : public testing::Test {
 protected:
  HostTakeOverTest() {
    std::filesystem::create_directory(dir_ / "state");
    std::filesystem::create_directory(dir_ / "vms");
    config_.config.state_dir = dir_ / "state";
    config_.config.vfio_user.socket_dir = dir_ / "vms";
    config_.events = &events_;
    auto host = Host::start(config_, [] {});
    EXPECT_TRUE(host) << host.error().message;
    before_ = std::move(*host);
    for (const std::string name : {"db1", "db2"}) {
      model::VmSpec spec;
      spec.name = name;
      spec.limits.page_list_mib = 16;
      EXPECT_TRUE(before_->add_vm(spec));
    }
  }
  // Of one adapter, which has a state that takes no room and is longer than any may be.
  static Inheritance with_long_state(const std::string& vm) {
    UniqueFd file(::memfd_create("state", MFD_CLOEXEC));
    const std::uint64_t bytes = privsep::Parcel::kMaxBytes;
    EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(bytes)), 0);
    Inheritance inheritance;
    const std::string name = adapter_parcel({vm, 1});
    inheritance.adapters.emplace(name, privsep::Parcel(name, std::move(file), bytes));
    return inheritance;
  }
  static std::uint64_t own_peak_kib() {
    std::ifstream status("/proc/self/status");
    std::string word;
    std::uint64_t kib = 0;
    while (status >> word) {
      if (word == "VmHWM:") status >> kib;
    }
    return kib;
  }

  TempDir dir_;
  api::EventLog events_{"after"};
  HostConfig config_;
  std::unique_ptr<Host> before_;
};

// The engine before goes on, and its operator is told which VM it is about.
TEST_F(HostTakeOverTest, IsRefusedForAStateThatIsTooLong) {
  Inheritance inheritance = with_long_state("db1");
  for (const auto& [name, lock] : before_->locks()) {
    inheritance.locks.emplace(name, UniqueFd(::fcntl(lock, F_DUPFD_CLOEXEC, 0)));
  }
  const std::uint64_t peak_kib = own_peak_kib();
  const auto after = Host::take_over(config_, std::move(inheritance), [] {});
  ASSERT_FALSE(after);
  EXPECT_THAT(after.error().message, HasSubstr("vm db1, adapter 1: its state has 4294967295 bytes, "
                                               "and at most "));
  EXPECT_LT(own_peak_kib(), peak_kib + (64u << 10));
}

// After a crash the VM of that state loses its VMM, and is served again; the others are.
TEST_F(HostTakeOverTest, LeavesAKeptStateThatIsTooLong) {
  before_.reset();
  Inheritance inheritance = with_long_state("db1");
  inheritance.is_kept = true;
  const std::uint64_t peak_kib = own_peak_kib();
  auto after = Host::take_over(config_, std::move(inheritance), [] {});
  ASSERT_TRUE(after) << after.error().message;
  (*after)->begin();
  EXPECT_LT(own_peak_kib(), peak_kib + (64u << 10));
  const api::EventPage told = events_.read({});
  EXPECT_TRUE(std::ranges::any_of(told.events, [](const model::Event& event) {
    return event.type == "adapter.failed" && event.text.find("db1") != std::string::npos &&
           event.text.find("at most") != std::string::npos;
  }));
  for (const std::string name : {"db1", "db2"}) {
    const auto vm = (*after)->find_vm(name);
    ASSERT_TRUE(vm);
    EXPECT_EQ(vm->adapters[0].state, model::VmState::kDetached);
  }
}

// An InfiniBand subnet's state takes no room before it is known to be short enough.
TEST_F(HostTakeOverTest, ASubnetsStateThatIsTooLongCostsTheSubnetAlone) {
  Inheritance inheritance;
  for (const auto& [name, lock] : before_->locks()) {
    inheritance.locks.emplace(name, UniqueFd(::fcntl(lock, F_DUPFD_CLOEXEC, 0)));
  }
  before_.reset();
  inheritance.subnet =
      std::move(with_long_state("db1").adapters.extract(adapter_parcel({"db1", 1})).mapped());
  const std::uint64_t peak_kib = own_peak_kib();
  const LogCapture log;
  const auto after = Host::take_over(config_, std::move(inheritance), [] {});
  ASSERT_TRUE(after) << after.error().message;
  (*after)->begin();
  EXPECT_THAT(log.text(), HasSubstr("the InfiniBand subnet begins anew: its state has 4294967295"));
  EXPECT_LT(own_peak_kib(), peak_kib + (64u << 10));
}

TEST(SortEstate, ASubnetIsThereOnceAtMost) {
  const auto estate = [](int subnets) {
    std::vector<privsep::Parcel> parcels;
    for (int i = 0; i < subnets; ++i) parcels.emplace_back("subnet", UniqueFd(), 0);
    return parcels;
  };
  const auto without = sort_estate(estate(0));
  ASSERT_TRUE(without);
  EXPECT_FALSE(without->subnet);
  const auto with = sort_estate(estate(1));
  ASSERT_TRUE(with);
  EXPECT_TRUE(with->subnet);
  EXPECT_FALSE(sort_estate(estate(2)));
}

}  // namespace
}  // namespace paravane::host
