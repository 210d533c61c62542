// What VMMs really send, message by message: QEMU 11.1 and 10.1 from attaching to
// the boot loader, and Cloud Hypervisor. Built from observed traces: order,
// sizes, ids and descriptors are theirs. Each answer has to be of the exact size
// that the VMM has room for, and nothing else may come.

#include <array>
#include <functional>

#include "vfio_user/requirements_test.h"

namespace paravane::vfio_user {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

constexpr std::uint64_t kRam = 0x20000000;  // 512 MiB, sparse

class ReplayTest : public ::testing::Test {
 protected:
  using Bytes = RawVfioClient::Bytes;
  using Reply = RawVfioClient::Reply;

  // Sends one request and checks its answer's frame.
  Reply ask(Command command, const Bytes& payload, std::uint32_t size,
            std::span<const int> fds = {}) {
    const std::uint16_t id = client_.send(command, payload, fds);
    std::optional<Reply> reply = client_.receive();
    EXPECT_TRUE(reply) << static_cast<int>(command);
    if (!reply) return Reply{};
    EXPECT_EQ(reply->header.id.get(), id);
    EXPECT_EQ(reply->header.command.get(), static_cast<std::uint16_t>(command));
    EXPECT_EQ(reply->header.flags.get(), 1U) << static_cast<int>(command);
    EXPECT_EQ(reply->header.size.get(), size) << static_cast<int>(command);
    return std::move(*reply);
  }

  static Bytes map_of(std::uint64_t iova, std::uint64_t size, std::uint32_t flags) {
    return RawVfioClient::bytes_of(
        DmaMap{Le32(32), Le32(flags), Le64(flags == 3 ? iova : 0), Le64(iova), Le64(size)});
  }
  void map_ram(std::uint64_t iova, std::uint64_t size, std::uint32_t flags = 3) {
    const int fd = ram_.get();
    ask(Command::kDmaMap,
        RawVfioClient::bytes_of(DmaMap{Le32(32), Le32(flags), Le64(iova), Le64(iova), Le64(size)}),
        16, {&fd, 1});
  }
  void map_rom(std::uint64_t iova, std::uint64_t size) {
    ask(Command::kDmaMap, map_of(iova, size, 1), 16);
  }
  void unmap(std::uint64_t iova, std::uint64_t size) {
    ask(Command::kDmaUnmap, RawVfioClient::bytes_of(DmaUnmap{Le32(24), {}, Le64(iova), Le64(size)}),
        40);
  }

  Reply read(std::uint32_t region, std::uint64_t offset, std::uint32_t count) {
    return ask(Command::kRegionRead,
               RawVfioClient::bytes_of(RegionAccess{Le64(offset), Le32(region), Le32(count)}),
               32 + count);
  }
  template <typename T>
  void write(std::uint32_t region, std::uint64_t offset, T value) {
    ask(Command::kRegionWrite,
        RawVfioClient::join(
            {RawVfioClient::bytes_of(RegionAccess{Le64(offset), Le32(region), Le32(sizeof value)}),
             RawVfioClient::bytes_of(value)}),
        32);
  }
  Reply region_info(std::uint32_t index, std::uint32_t argsz, std::uint32_t size) {
    return ask(Command::kGetRegionInfo,
               RawVfioClient::bytes_of(RegionInfo{Le32(argsz), {}, Le32(index), {}, {}, {}}), size);
  }
  void irq_info(std::uint32_t index) {
    ask(Command::kGetIrqInfo, RawVfioClient::bytes_of(IrqInfo{Le32(16), {}, Le32(index), {}}), 32);
  }
  void set_irqs(std::uint32_t index, std::uint32_t flags, std::uint32_t start, std::uint32_t count,
                std::span<const int> fds = {}) {
    ask(Command::kSetIrqs,
        RawVfioClient::bytes_of(
            SetIrqs{Le32(20), Le32(flags), Le32(index), Le32(start), Le32(count)}),
        16, fds);
  }
  UniqueFd event() { return UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

  // ---- QEMU, in the order of its sources and of the traces ----
  void qemu_maps_memory();
  void qemu_asks_for_the_device();
  void qemu_sets_up_interrupts();
  void qemu_resets();
  void seabios_shuffles_ram();
  void seabios_places_bars();

  UniqueFd ram_{memfd_create("ram", MFD_CLOEXEC)};
  VfioServerRig rig_;
  RawVfioClient client_ = rig_.connect();
};

// The whole map before anything is known of the device, in one go; it waits for
// the last answer only.
void ReplayTest::qemu_maps_memory() {
  ASSERT_EQ(ftruncate(ram_.get(), kRam), 0);
  const int fd = ram_.get();
  const std::uint16_t first = client_.send(Command::kDmaMap, map_of(0, kRam, 3), {&fd, 1});
  const std::uint16_t second = client_.send(Command::kDmaMap, map_of(0xFFFC0000, 0x40000, 1));
  for (const std::uint16_t id : {first, second}) {
    const auto reply = client_.receive();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->header.id.get(), id);
    EXPECT_EQ(reply->header.size.get(), 16U);
  }
}

void ReplayTest::qemu_asks_for_the_device() {
  ask(Command::kGetInfo, RawVfioClient::bytes_of(DeviceInfo{Le32(16), {}, {}, {}}), 32);
  for (const std::uint32_t index : {0U, 1U, 2U, 3U, 4U, 5U, 7U}) {
    const Reply brief = region_info(index, 32, 48);
    const std::uint32_t full = brief.as<RegionInfo>().argsz.get();
    if (full > 32) {
      EXPECT_EQ(region_info(index, full, 16 + full).fds.size(), 1U);
    }
  }
  irq_info(3);
  read(7, 0, 256);
  read(7, 0x30, 4);  // is there a ROM?
  write<std::uint32_t>(7, 0x30, 0xFFFFF800);
  EXPECT_EQ(read(7, 0x30, 4).as<Le32>(16).get(), 0U);
  write<std::uint32_t>(7, 0x30, 0);
  for (const std::uint64_t bar : {0x10U, 0x14U, 0x18U}) read(7, bar, 4);
}

void ReplayTest::qemu_sets_up_interrupts() {
  const std::uint8_t msix = 0x40;
  read(7, msix + 2U, 2);
  read(7, msix + 4U, 4);
  read(7, msix + 8U, 4);
  irq_info(2);
  read(7, 0x3D, 1);
  read(7, 0x3D, 1);
  const UniqueFd error = event();
  const int fd = error.get();
  set_irqs(3, 0x24, 0, 1, {&fd, 1});
}

void ReplayTest::qemu_resets() {
  set_irqs(0, 0x21, 0, 0);
  read(7, 4, 2);
  write<std::uint16_t>(7, 4, 0);
  ask(Command::kReset, {}, 16);
  read(7, 0x3D, 1);
  for (std::uint64_t bar = 0x10; bar < 0x28; bar += 4) write<std::uint32_t>(7, bar, 0);
}

// PAM registers switch pieces below 1 MiB between RAM and ROM; each time all of
// low RAM goes and comes back.
void ReplayTest::seabios_shuffles_ram() {
  unmap(0, kRam);
  map_ram(0, 0xC0000);
  map_rom(0xC0000, 0x20000);
  map_rom(0xE0000, 0x20000);
  map_ram(0x100000, kRam - 0x100000);
  unmap(0, 0xC0000);
  unmap(0xC0000, 0x20000);
  unmap(0xE0000, 0x20000);
  unmap(0x100000, kRam - 0x100000);
  map_ram(0, kRam);
  unmap(0, kRam);
  map_ram(0, 0xC3000);
  map_ram(0xC3000, 0x25000, 1);
  map_ram(0xE8000, 0x8000);
  map_ram(0xF0000, 0x10000, 1);
  map_ram(0x100000, kRam - 0x100000);
}

void ReplayTest::seabios_places_bars() {
  read(7, 0, 2);
  read(7, 0x0A, 2);
  read(7, 0x0E, 1);
  constexpr std::array<std::uint32_t, 6> kPlaces{0xFEBC0000, 0xFEBC4000, 0xFEBD0000, 0, 0, 0};
  for (std::uint64_t i = 0; i < kPlaces.size(); ++i) {
    write<std::uint32_t>(7, 0x10 + 4 * i, 0xFFFFFFFF);
    write<std::uint32_t>(7, 0x10 + 4 * i, 0);
  }
  for (std::uint64_t i = 0; i < kPlaces.size(); ++i) {
    write<std::uint32_t>(7, 0x10 + 4 * i, kPlaces[i]);
  }
  write<std::uint8_t>(7, 0x3C, 11);
  write<std::uint16_t>(7, 4, 0x103);  // I/O, memory, SERR
  // The mapped part of BAR2 is a DMA target for QEMU, without a descriptor.
  ask(Command::kDmaMap, map_of(0xFEBD1000, 15 * 4096, 3), 16);
}

TEST_F(ReplayTest, Qemu111FromAttachingToTheDriver) {
  ASSERT_TRUE(client_.negotiate());
  qemu_maps_memory();
  qemu_asks_for_the_device();
  qemu_sets_up_interrupts();
  qemu_resets();
  seabios_shuffles_ram();
  seabios_places_bars();
  EXPECT_THAT(rig_.device().log(), Contains("reset machine"));
  EXPECT_EQ(rig_.memory().usage().ranges, 7U);
  EXPECT_EQ(rig_.memory().usage().files, 1U);

  // The driver: bus mastering, MSI-X with all vectors masked, then one by one.
  write<std::uint16_t>(7, 4, 0x107);
  write<std::uint16_t>(7, 0x42, 0x8000);
  set_irqs(0, 0x21, 0, 0);
  set_irqs(2, 0x24, 0, 1);  // wakes the index up, attaches nothing
  const UniqueFd one = event();
  const int fd = one.get();
  set_irqs(2, 0x24, 1, 1, {&fd, 1});
  rig_.interrupts().signal(1);
  std::uint64_t count = 0;
  EXPECT_EQ(::read(one.get(), &count, sizeof count), 8);

  EXPECT_TRUE(client_.stays_silent());
  EXPECT_EQ(rig_.counters().protocol_errors.value(), 0U);
  EXPECT_EQ(rig_.counters().dma_map_errors.value(), 0U);

  // Quit: nothing but the end of the stream.
  client_.hang_up();
  rig_.step();
  EXPECT_FALSE(rig_.server().attached());
}

// 10.1 and 10.2 send the same messages. They switch to slow sends when a server
// offers write_multiple, and would read message DMA wrongly: we use neither.
TEST_F(ReplayTest, Qemu101FromAttachingToARebootAndBack) {
  const auto version = client_.negotiate();
  ASSERT_TRUE(version);
  const std::string json(reinterpret_cast<const char*>(version->payload.data() + 4));
  EXPECT_EQ(json.find("write_multiple"), std::string::npos);
  qemu_maps_memory();
  qemu_asks_for_the_device();
  qemu_sets_up_interrupts();
  for (int boot = 0; boot < 3; ++boot) {
    qemu_resets();
    if (boot > 0) {
      unmap(0xFEBD1000, 15 * 4096);
      for (const auto& [iova, size] : {std::pair<std::uint64_t, std::uint64_t>{0, 0xC3000},
                                       {0xC3000, 0x25000},
                                       {0xE8000, 0x8000},
                                       {0xF0000, 0x10000},
                                       {0x100000, kRam - 0x100000}}) {
        unmap(iova, size);
      }
      map_ram(0, kRam);
    }
    seabios_shuffles_ram();
    seabios_places_bars();
    EXPECT_EQ(rig_.memory().usage().ranges, 7U);
  }
  EXPECT_TRUE(client_.stays_silent());
  EXPECT_EQ(rig_.counters().protocol_errors.value(), 0U);
  EXPECT_EQ(rig_.counters().resets.value(), 3U);
  EXPECT_EQ(rig_.counters().attaches.value(), 1U);
}

TEST_F(ReplayTest, QemuWithAVirtualIommuThatIsSwitchedOff) {
  ASSERT_TRUE(client_.negotiate());
  qemu_maps_memory();
  unmap(0, kRam);
  unmap(0xFFFC0000, 0x40000);
  const int fd = ram_.get();
  for (std::uint64_t i = 0; i < 8; ++i) {  // a page per mapping of the guest
    ask(Command::kDmaMap,
        RawVfioClient::bytes_of(DmaMap{Le32(32), Le32(3), Le64(0x1000 * (20 - i)),
                                       Le64(0xFFFFF000 - 0x1000 * i), Le64(0x1000)}),
        16, {&fd, 1});
  }
  for (std::uint64_t bit = 12; bit < 32; ++bit) {
    unmap(std::uint64_t{1} << bit, std::uint64_t{1} << bit);
  }
  unmap(0xFEF00000, 0xFFFFFFFF01100000);
  EXPECT_EQ(rig_.memory().usage().ranges, 0U);
  map_ram(0, kRam);
  EXPECT_EQ(rig_.counters().protocol_errors.value(), 0U);
}

TEST_F(ReplayTest, CloudHypervisorAttaches) {
  ASSERT_EQ(ftruncate(ram_.get(), kRam), 0);
  ASSERT_TRUE(client_.negotiate(RawVfioClient::kCloudHypervisorJson, 1));
  ask(Command::kReset, {}, 16);
  ask(Command::kGetInfo, RawVfioClient::bytes_of(DeviceInfo{Le32(32), {}, {}, {}}), 32);
  for (std::uint32_t index = 0; index < 9; ++index) {
    client_.set_next_id(static_cast<std::uint16_t>(50 + index));
    const std::uint32_t full = region_info(index, 32, 48).as<RegionInfo>().argsz.get();
    if (full == 32) continue;
    client_.set_next_id(static_cast<std::uint16_t>(50 + index));  // the same id again
    const Reply reply = region_info(index, full, 16 + full);
    EXPECT_EQ(reply.as<RegionInfo>().argsz.get(), full) << "it asserts that these agree";
    EXPECT_EQ(reply.fds.size(), 1U);
  }
  for (std::uint32_t index = 0; index < 5; ++index) irq_info(index);
  read(7, 0x34, 1);
  read(7, 0x40, 4);
  for (std::uint64_t bar = 0x10; bar < 0x28; bar += 4) {
    write<std::uint32_t>(7, bar, 0xFFFFFFFF);
    read(7, bar, 4);
  }
  map_ram(0, kRam);

  // More descriptors in one message than it said it takes itself.
  const UniqueFd events[3] = {event(), event(), event()};
  const int fds[3] = {events[0].get(), events[1].get(), events[2].get()};
  set_irqs(2, 0x24, 0, 3, fds);
  EXPECT_EQ(rig_.counters().protocol_errors.value(), 0U);
}

// It reads answers of a fixed size and ignores the error flag: a short one would
// leave it waiting for ever.
TEST_F(ReplayTest, CloudHypervisorsHotPathsAnswerInFullEvenWhenWrong) {
  ASSERT_TRUE(client_.negotiate(RawVfioClient::kCloudHypervisorJson, 1));
  EXPECT_EQ(read(1, 0x100000, 4).as<Le32>(16).get(), 0xFFFFFFFFU);
  EXPECT_EQ(read(8, 0, 1).payload.back(), std::byte{0xFF});
  EXPECT_EQ(read(77, 0, 8).as<Le64>(16).get(), ~std::uint64_t{0});
  write<std::uint32_t>(1, 0x100000, 1);
  write<std::uint32_t>(77, 0, 1);
  unmap(0x123000, 0x1000);
  EXPECT_TRUE(client_.stays_silent());
}

}  // namespace
}  // namespace paravane::vfio_user
