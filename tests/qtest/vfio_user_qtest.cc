// Our vfio-user server under the client that it is for: QEMU's vfio-user-pci,
// with no guest. The test is firmware, driver and operator; MSI-X messages are
// pointed at RAM, where they can be seen.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <csignal>

#include "qtest/pci_bus.h"
#include "qtest/qtest_machine.h"
#include "testing/vfio_server_rig.h"

namespace paravane {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::uint64_t kMessages = 0x500'0000;  // RAM that MSI-X writes to

class VfioUserQtest : public ::testing::Test {
 protected:
  explicit VfioUserQtest(VfioServerRig::Options options = {}) : rig_(options) {}

  void start(QtestMachine::Options options = {}) {
    options.device_socket = rig_.socket_path();
    machine_.emplace(directory_.path(), options, [this] { rig_.step(); });
    ASSERT_TRUE(machine_->is_up()) << machine_->process().log();
    function_.emplace(*machine_);
  }

  // RAM at `address` becomes `value`; an MSI-X message takes a moment.
  bool arrives(std::uint64_t address, std::uint32_t value) {
    for (int i = 0; i < 2000; ++i) {
      if (machine_->read(4, address) == value) return true;
    }
    return false;
  }

  bool vmm_leaves() {
    for (int i = 0; i < 2000 && rig_.server().attached(); ++i) {
      rig_.step();
      ::poll(nullptr, 0, 1);
    }
    return !rig_.server().attached();
  }

  TempDir directory_;
  VfioServerRig rig_;
  std::optional<QtestMachine> machine_;
  std::optional<PciFunction> function_;
};

TEST_F(VfioUserQtest, AttachesAndMapsItsMemoryByDescriptor) {
  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_TRUE(rig_.server().attached());
  EXPECT_EQ(rig_.server().peer_pid(), machine_->process().pid());
  EXPECT_EQ(rig_.memory().usage().files, 1U);
  EXPECT_EQ(rig_.memory().usage().mapped_file_bytes, QtestMachine::kRamBytes);
  EXPECT_EQ(rig_.counters().protocol_errors.value(), 0U);
  EXPECT_EQ(rig_.counters().dma_map_errors.value(), 0U);
}

TEST_F(VfioUserQtest, ShowsTheFunctionInConfigSpace) {
  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_EQ(function_->config_read(4, 0), 0x082015ADU);
  EXPECT_EQ(function_->config_read(4, 8), 0x02800001U);
  EXPECT_EQ(function_->config_read(1, 0x3D), 0U) << "no interrupt pin";
  EXPECT_NE(function_->find_capability(PciFunction::kMsixId), 0);
  EXPECT_NE(function_->find_capability(PciFunction::kAdvancedFeaturesId), 0);
}

TEST_F(VfioUserQtest, BarsAnswerToSizing) {
  ASSERT_NO_FATAL_FAILURE(start());
  for (const auto& [bar, mask] : {std::pair{0, 0xFFFFE000U}, {1, 0xFFFFFF00U}, {2, 0xFFFF0000U}}) {
    const auto at = static_cast<std::uint8_t>(PciFunction::kFirstBar + 4 * bar);
    function_->config_write(4, at, 0xFFFFFFFF);
    EXPECT_EQ(function_->config_read(4, at), mask) << "BAR " << bar;
  }
}

TEST_F(VfioUserQtest, BarAccessesOfEveryWidthReachTheDevice) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  rig_.device().clear_log();
  for (const unsigned bytes : {1U, 2U, 4U, 8U}) {
    const std::uint64_t value = 0x8877665544332211 & (~std::uint64_t{0} >> (64 - 8 * bytes));
    machine_->write(bytes, PciFunction::kBar1 + 16 * bytes, value);
    EXPECT_EQ(machine_->read(bytes, PciFunction::kBar1 + 16 * bytes), value) << bytes;
  }
  EXPECT_THAT(rig_.device().log(), Contains("write 1 0x80 8"));
  EXPECT_THAT(rig_.device().log(), Contains("read 1 0x10 1"));
}

TEST_F(VfioUserQtest, AMappablePageKeepsBarWritesSynchronous) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  machine_->write(4, PciFunction::kBar1, 1);
  EXPECT_EQ(rig_.counters().posted_writes.value(), 0U);
}

TEST_F(VfioUserQtest, StoresToAMappedPageCostNoMessage) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  const std::uint64_t before = rig_.counters().messages.value();
  machine_->write(4, PciFunction::kBar2 + 0x3004, 0xCAFE);
  EXPECT_EQ(rig_.device().load_doorbell(0x3004), 0xCAFEU);
  EXPECT_EQ(rig_.counters().messages.value(), before);
}

TEST_F(VfioUserQtest, StoresToTheTrappedPageOfTheSameBarAreMessages) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  rig_.device().clear_log();
  machine_->write(4, PciFunction::kBar2 + 4, 0xBEEF);
  EXPECT_THAT(rig_.device().log(), Contains("write 2 0x4 4"));
  EXPECT_EQ(rig_.device().load_doorbell(4), 0U) << "the file's page 0 is not shown";
}

TEST_F(VfioUserQtest, DmaReachesGuestRamBothWays) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  machine_->write(4, 0x200'0000, 0x12345678);
  const auto read = rig_.memory().read<std::uint32_t>(GuestAddr{0x200'0000});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, 0x12345678U);
  ASSERT_TRUE(rig_.memory().write(GuestAddr{0x200'0004}, std::uint32_t{0x9ABCDEF0}));
  EXPECT_EQ(machine_->read(4, 0x200'0004), 0x9ABCDEF0U);
}

TEST_F(VfioUserQtest, DmaStopsWithBusMastering) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  function_->config_write(2, PciFunction::kCommand, 2);
  EXPECT_FALSE(rig_.memory().read<std::uint32_t>(GuestAddr{0x200'0000}));
}

TEST_F(VfioUserQtest, InterruptsOfUnmaskedVectorsArrive) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  for (unsigned v = 0; v < FakePciDevice::kVectors; ++v) {
    function_->set_msix_entry(v, kMessages + 16 * v, 0x1000 + v, /*masked=*/false);
  }
  function_->enable_msix(true);
  for (unsigned v = 0; v < FakePciDevice::kVectors; ++v) {
    rig_.interrupts().signal(static_cast<std::uint16_t>(v));
    EXPECT_TRUE(arrives(kMessages + 16 * v, 0x1000 + v)) << "vector " << v;
  }
}

TEST_F(VfioUserQtest, VectorsUnmaskedOneByOneWork) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  for (unsigned v = 0; v < FakePciDevice::kVectors; ++v) {
    function_->set_msix_entry(v, kMessages + 16 * v, 0x1000 + v, /*masked=*/true);
  }
  function_->enable_msix(true);
  function_->mask_msix(1, false);
  function_->mask_msix(0, false);
  rig_.interrupts().signal(1);
  rig_.interrupts().signal(0);
  EXPECT_TRUE(arrives(kMessages + 16, 0x1001));
  EXPECT_TRUE(arrives(kMessages, 0x1000));
}

TEST_F(VfioUserQtest, AnInterruptOfAMaskedVectorArrivesWhenItIsUnmasked) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  function_->set_msix_entry(1, kMessages, 0x77, /*masked=*/false);
  function_->enable_msix(true);
  function_->mask_msix(1, true);
  rig_.interrupts().signal(1);
  EXPECT_EQ(machine_->read(4, kMessages), 0U);
  function_->mask_msix(1, false);
  EXPECT_TRUE(arrives(kMessages, 0x77));
}

TEST_F(VfioUserQtest, AnInterruptBeforeMsixIsOnArrivesWhenItIs) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  function_->set_msix_entry(2, kMessages, 0x55, /*masked=*/false);
  rig_.interrupts().signal(2);
  function_->enable_msix(true);
  EXPECT_TRUE(arrives(kMessages, 0x55));
}

TEST_F(VfioUserQtest, MsixCanBeSwitchedOffAndOnAgain) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  function_->set_msix_entry(0, kMessages, 0x66, /*masked=*/false);
  for (int round = 0; round < 3; ++round) {
    function_->enable_msix(true);
    function_->enable_msix(false);
  }
  function_->enable_msix(true);
  rig_.interrupts().signal(0);
  EXPECT_TRUE(arrives(kMessages, 0x66));
}

TEST_F(VfioUserQtest, TheMsixTableStaysInQemu) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  rig_.device().clear_log();
  function_->set_msix_entry(0, kMessages, 0x66, /*masked=*/true);
  EXPECT_EQ(machine_->read(4, PciFunction::kBar0 + 8), 0x66U);
  EXPECT_EQ(machine_->read(8, PciFunction::kBar0 + 4096), 0U) << "pending bits";
  EXPECT_TRUE(rig_.device().log().empty());
}

TEST_F(VfioUserQtest, AMachineResetResetsTheDeviceAndKeepsTheConnection) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  rig_.device().clear_log();
  ASSERT_TRUE(machine_->qmp("system_reset"));
  ASSERT_TRUE(machine_->wait_for_event("RESET"));
  EXPECT_THAT(rig_.device().log(), Contains("reset machine"));
  EXPECT_FALSE(rig_.memory().dma_enabled());
  EXPECT_TRUE(rig_.server().attached());

  function_->enable();
  machine_->write(4, PciFunction::kBar1 + 8, 0x1234);
  EXPECT_EQ(machine_->read(4, PciFunction::kBar1 + 8), 0x1234U);
  EXPECT_TRUE(rig_.memory().read<std::uint32_t>(GuestAddr{0x200'0000}));
}

TEST_F(VfioUserQtest, AFunctionLevelResetResetsTheDevice) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  rig_.device().clear_log();
  const std::uint8_t capability = function_->find_capability(PciFunction::kAdvancedFeaturesId);
  function_->config_write(1, static_cast<std::uint8_t>(capability + 4), 1);
  EXPECT_THAT(rig_.device().log(), Contains("reset function"));
  EXPECT_EQ(function_->config_read(2, PciFunction::kCommand) & 4, 0U);
}

TEST_F(VfioUserQtest, WaitsForAnAnswerThatIsPutOff) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  rig_.device().defer({.writes = true});
  int turns = 0;
  rig_.device().during_write = [&](vfio_user::ReplyToken token) {
    rig_.timers().set(rig_.now() + std::chrono::microseconds(20), [this, token, &turns](Instant) {
      ++turns;
      rig_.server().answer(token);
    });
  };
  machine_->write(4, PciFunction::kBar1 + 8, 0x4321);
  EXPECT_EQ(turns, 1);
  EXPECT_EQ(machine_->read(4, PciFunction::kBar1 + 8), 0x4321U);
}

TEST_F(VfioUserQtest, QuitGivesBackEverythingAndTheNextVmCanAttach) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  ASSERT_TRUE(machine_->qmp("quit"));
  EXPECT_EQ(machine_->process().wait(), 0);
  EXPECT_TRUE(vmm_leaves());
  EXPECT_THAT(rig_.device().log(), Contains("reset disconnect"));
  EXPECT_EQ(rig_.memory().usage().ranges, 0U);

  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_TRUE(rig_.server().attached());
  EXPECT_EQ(rig_.counters().attaches.value(), 2U);
  EXPECT_EQ(function_->config_read(4, 0), 0x082015ADU);
}

TEST_F(VfioUserQtest, ASecondVmIsRefusedAtOnceAndTheFirstGoesOn) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  TempDir other;
  QtestMachine second(other.path(), {.device_socket = rig_.socket_path()}, [this] { rig_.step(); });
  EXPECT_FALSE(second.is_up());
  EXPECT_EQ(second.process().wait(), 1);
  EXPECT_THAT(second.process().log(), HasSubstr("version reply: Device or resource busy"));
  EXPECT_EQ(rig_.counters().refused_clients.value(), 1U);
  machine_->write(4, PciFunction::kBar1, 7);
  EXPECT_EQ(machine_->read(4, PciFunction::kBar1), 7U);
}

TEST_F(VfioUserQtest, AVmThatIsKilledLeavesNothingBehind) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  ::kill(machine_->process().pid(), SIGKILL);
  EXPECT_TRUE(vmm_leaves());
  EXPECT_EQ(rig_.memory().usage().ranges, 0U);
}

TEST_F(VfioUserQtest, DroppingTheVmLeavesItRunning) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  rig_.server().disconnect("the operator removed it");
  EXPECT_TRUE(vmm_leaves());
  EXPECT_EQ(machine_->read(4, PciFunction::kBar1), 0xFFFFFFFFU);
  machine_->write(4, PciFunction::kBar1, 1);
  EXPECT_TRUE(machine_->qmp("query-status"));
}

TEST_F(VfioUserQtest, PrivateGuestMemoryIsUnreachableButHarmless) {
  ASSERT_NO_FATAL_FAILURE(start({.memory = ""}));
  function_->enable();
  EXPECT_TRUE(rig_.memory().has_range_without_file());
  EXPECT_FALSE(rig_.memory().read<std::uint32_t>(GuestAddr{0x200'0000}));
  machine_->write(4, PciFunction::kBar1, 7);
  EXPECT_EQ(machine_->read(4, PciFunction::kBar1), 7U);
}

TEST_F(VfioUserQtest, MemoryInAFileOnDiskIsRefusedAndTheVmGoesOn) {
  const std::filesystem::path file = "/var/tmp/paravane-qtest-ram";  // /tmp may be tmpfs
  ASSERT_NO_FATAL_FAILURE(
      start({.memory = "memory-backend-file,share=on,mem-path=" + file.string()}));
  std::filesystem::remove(file);
  function_->enable();
  EXPECT_GT(rig_.counters().dma_map_errors.value(), 0U);
  EXPECT_EQ(rig_.memory().usage().files, 0U);
  machine_->write(4, PciFunction::kBar1, 7);
  EXPECT_EQ(machine_->read(4, PciFunction::kBar1), 7U);
}

// As beside the NIC that the guest's driver pairs with.
TEST_F(VfioUserQtest, WorksAsTheSecondFunctionOfASlot) {
  ASSERT_NO_FATAL_FAILURE(
      start({.address = "10.1", .more = {"-device", "vmxnet3,addr=10.0,multifunction=on"}}));
  PciFunction nic(*machine_, 0);
  PciFunction ours(*machine_, 1);
  EXPECT_EQ(nic.config_read(4, 0), 0x07B015ADU);
  EXPECT_EQ(ours.config_read(4, 0), 0x082015ADU);
  ours.enable();
  machine_->write(4, PciFunction::kBar1, 7);
  EXPECT_EQ(machine_->read(4, PciFunction::kBar1), 7U);
}

class VfioUserQtestTrapped : public VfioUserQtest {
 protected:
  VfioUserQtestTrapped() : VfioUserQtest({.device = {.mappable = false, .whole_bar = false}}) {}
};

TEST_F(VfioUserQtestTrapped, WithoutAMappablePageBarWritesArePosted) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  rig_.device().clear_log();
  machine_->write(4, PciFunction::kBar2 + 0x3004, 0xCAFE);
  EXPECT_EQ(machine_->read(4, PciFunction::kBar2 + 0x3004), 0xCAFEU) << "a read flushes writes";
  EXPECT_THAT(rig_.device().log(), Contains("write 2 0x3004 4 posted"));
}

class VfioUserQtestWholeBar : public VfioUserQtest {
 protected:
  VfioUserQtestWholeBar() : VfioUserQtest({.device = {.mappable = true, .whole_bar = true}}) {}
};

TEST_F(VfioUserQtestWholeBar, AWhollyMappedBarNeedsNoListOfAreas) {
  ASSERT_NO_FATAL_FAILURE(start());
  function_->enable();
  machine_->write(4, PciFunction::kBar2 + 4, 0xF00D);
  EXPECT_EQ(rig_.device().load_doorbell(4), 0xF00DU);
}

}  // namespace
}  // namespace paravane
