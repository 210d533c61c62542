// A function whose guest goes on without having configured it. What QEMU 11.1.3 sends, with SeaBIOS
// and OVMF, is replayed message by message.

#include "vfio_user/lost_configuration.h"

#include "vfio_user/hand_over_test.h"

namespace paravane::vfio_user {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kGuestRam = 0x20000000;
constexpr std::uint32_t kReadOnly = 1;
constexpr std::uint32_t kReadWritten = 3;
constexpr std::uint32_t kConfigSpaceRegion = 7;
constexpr std::uint64_t kFirstBarAt = 0x10;

class LostConfigurationTest : public VfioUserHandOver {
 protected:
  LostConfigurationTest() { map_ram(0, kGuestRam); }

  void map_ram(std::uint64_t iova, std::uint64_t size) {
    ASSERT_TRUE(good(client_.dma_map(ram_.get(), iova, iova, size)));
  }
  void map_nothing(std::uint64_t iova, std::uint64_t size, std::uint32_t rights) {
    ASSERT_TRUE(good(client_.dma_map(-1, 0, iova, size, rights)));
  }
  void unmap(std::uint64_t iova, std::uint64_t size) {
    ASSERT_TRUE(good(client_.dma_unmap(iova, size)));
  }
  void write_bar(std::uint64_t at, std::uint32_t value) {
    client_.write_value<std::uint32_t>(kConfigSpaceRegion, kFirstBarAt + 4 * at, value);
  }

  // ---- What QEMU does ----
  void machine_reset() {
    client_.write_value<std::uint16_t>(kConfigSpaceRegion, 4, 0);
    ASSERT_TRUE(good(client_.reset()));
    for (std::uint64_t bar = 0; bar < 6; ++bar) write_bar(bar, 0);
  }
  void map_as_reset() {
    unmap(0, kGuestRam);
    map_ram(0, 0xC0000);
    map_nothing(0xC0000, 0x20000, kReadOnly);
    map_nothing(0xE0000, 0x20000, kReadOnly);
    map_ram(0x100000, kGuestRam - 0x100000);
  }
  void start() {
    machine_reset();
    map_as_reset();
  }
  void load_pam_registers() {
    unmap(0xC0000, 0x20000);
    map_nothing(0xC0000, 0x1000, kReadOnly);
    map_ram(0xC1000, 0x3000);
    map_nothing(0xC4000, 0x1C000, kReadOnly);
  }

  // ---- What firmware does ----
  void seabios_begins() {
    unmap(0, kGuestRam);
    map_ram(0, kGuestRam);
  }
  void firmware_places_bars() {
    write_bar(0, 0xFE840000);
    write_bar(1, 0xFE849000);
    write_bar(2, 0xFE400000);
    client_.write_value<std::uint16_t>(kConfigSpaceRegion, 4, 0x103);
  }

  void pass(Duration time) {
    now().pass(time);
    now().step();
  }
  bool lost() { return now().server().configuration_lost(); }

  UniqueFd ram_{ram(kGuestRam)};
};

TEST_F(LostConfigurationTest, AGuestThatMigratesInHasNotConfiguredIt) {
  start();
  pass(5s);
  EXPECT_FALSE(lost());
  load_pam_registers();
  pass(2900ms);
  EXPECT_FALSE(lost());
  pass(200ms);
  EXPECT_TRUE(lost());
}

TEST_F(LostConfigurationTest, ASnapshotOfTheSameMachineIsLoaded) {
  start();
  seabios_begins();
  firmware_places_bars();
  pass(1h);
  machine_reset();  // QEMU leaves the PAM registers as they are
  pass(370ms);
  unmap(0xC0000, 0x28000);
  map_ram(0xC0000, 0x28000);
  pass(3s);
  EXPECT_TRUE(lost());
}

TEST_F(LostConfigurationTest, AMachineThatBootsConfiguresIt) {
  for (int boot = 0; boot < 3; ++boot) {
    start();
    pass(100ms);
    seabios_begins();
    pass(2900ms);  // more than ten times what was seen
    firmware_places_bars();
    pass(1h);
    EXPECT_FALSE(lost());
  }
}

TEST_F(LostConfigurationTest, AMachineThatWaitsForItsStartIsNotAccused) {
  start();
  pass(1h);
  EXPECT_FALSE(lost());
  EXPECT_EQ(now().timers().next_deadline(), kNever);
  seabios_begins();
  pass(250ms);
  firmware_places_bars();
  pass(1h);
  EXPECT_FALSE(lost());
}

TEST_F(LostConfigurationTest, AMachineThatIsResetWhileItIsPausedIsNotAccused) {
  start();
  seabios_begins();
  map_nothing(0xFD000000, 0x1000000, kReadWritten);  // a display's
  firmware_places_bars();
  machine_reset();
  unmap(0xFD000000, 0x1000000);
  pass(1h);
  EXPECT_FALSE(lost());
}

TEST_F(LostConfigurationTest, UefiLeavesTheMapButDevicesOfTheLoadedGuestAreThere) {
  start();
  map_nothing(0xFFC00000, 0x400000, kReadOnly);  // flash, as firmware writes variables
  pass(1h);
  EXPECT_FALSE(lost());
  map_nothing(0xC0000000, 0x1000000, kReadWritten);
  pass(3s);
  EXPECT_TRUE(lost());
}

TEST_F(LostConfigurationTest, AnIommuOfTheLoadedGuestTranslates) {
  start();
  pass(4s);
  unmap(0, kGuestRam);
  ASSERT_TRUE(good(client_.dma_map(ram_.get(), 0, 0xFFFFE000, 0x2000)));
  pass(3s);
  EXPECT_TRUE(lost());
}

TEST_F(LostConfigurationTest, ItIsJudgedWhenTheMapHasRested) {
  start();
  pass(2900ms);
  load_pam_registers();
  pass(200ms);
  EXPECT_FALSE(lost()) << "three seconds since the reset, and not since the last change";
  pass(2700ms);
  EXPECT_FALSE(lost());
  pass(200ms);
  EXPECT_TRUE(lost());
}

TEST_F(LostConfigurationTest, ALookAtTheFunctionIsNoConfiguration) {
  start();
  load_pam_registers();
  pass(1s);
  EXPECT_EQ(client_.read_value<std::uint16_t>(kConfigSpaceRegion, 0), 0x15ADU);
  pass(3s);
  EXPECT_TRUE(lost());
}

// modprobe -r vmw_pvrdma; modprobe vmw_pvrdma: the driver believes in addresses that are gone.
TEST_F(LostConfigurationTest, ADriverThatIsLoadedAgainConfiguresNothing) {
  start();
  load_pam_registers();
  pass(3s);
  ASSERT_TRUE(lost());
  client_.write_value<std::uint16_t>(kConfigSpaceRegion, 4, 2);
  client_.write_value<std::uint16_t>(kConfigSpaceRegion, 4, 6);
  pass(10s);
  EXPECT_TRUE(lost());
}

TEST_F(LostConfigurationTest, AnAddressOrAResetOrTheEndOfTheVmmClearsIt) {
  for (int cure = 0; cure < 3; ++cure) {
    if (cure > 0) map_ram(0, kGuestRam);
    start();
    load_pam_registers();
    pass(3s);
    ASSERT_TRUE(lost()) << cure;
    if (cure == 0) write_bar(0, 0xFFFFFFFF);  // of remove and rescan, which sizes first
    if (cure == 1) machine_reset();
    if (cure == 2) {
      client_.hang_up();
      now().step();
    }
    EXPECT_FALSE(lost()) << cure;
    pass(1h);
    EXPECT_FALSE(lost()) << cure;
    if (cure == 2) break;
    ASSERT_TRUE(good(client_.dma_unmap(0, 0xFFFFF000)));
  }
}

// Each message that accuses has to come after a reset by the VMM.
TEST_F(LostConfigurationTest, AGuestThatTakesItsAddressesAwayIsNotAccused) {
  start();
  seabios_begins();
  firmware_places_bars();
  for (std::uint64_t bar = 0; bar < 6; ++bar) write_bar(bar, 0);
  unmap(0xC0000, 0x28000);
  map_ram(0xC0000, 0x28000);
  pass(1h);
  EXPECT_FALSE(lost());
}

TEST_F(LostConfigurationTest, AnAdapterThatIsAddedToARunningGuestWaitsForIt) {
  machine_reset();  // as QEMU ends the creation of a device; the map is as the guest has it
  pass(1h);
  EXPECT_FALSE(lost());
}

TEST_F(LostConfigurationTest, PrivateMemorySaysNothing) {
  unmap(0, kGuestRam);
  map_nothing(0, kGuestRam, kReadWritten);
  machine_reset();
  map_nothing(0x100000000, kGuestRam, kReadWritten);
  pass(1h);
  EXPECT_FALSE(lost());
}

TEST_F(LostConfigurationTest, AnotherProcessGoesOnWithWhatIsKnown) {
  start();
  hand_over();
  EXPECT_FALSE(lost());
  load_pam_registers();
  pass(2s);
  hand_over();  // which does not know how long ago it was
  pass(2900ms);
  EXPECT_FALSE(lost());
  pass(200ms);
  EXPECT_TRUE(lost());
  hand_over();
  EXPECT_TRUE(lost());
  firmware_places_bars();
  EXPECT_FALSE(lost());
  hand_over();
  pass(1h);
  EXPECT_FALSE(lost());
}

}  // namespace
}  // namespace paravane::vfio_user
