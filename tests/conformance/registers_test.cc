// Conformance: PCI identity and registers (device spec, C01-C12).

#include <algorithm>
#include <vector>

#include "test_rig.h"

namespace paravane::fake {
namespace {

RigOptions one_vm(bool boot = true) {
  RigOptions options;
  options.vms = 1;
  options.boot = boot;
  return options;
}

std::vector<std::byte> snapshot(GuestRam& ram, std::uint64_t page) {
  return {ram.at(page), ram.at(page) + kPage};
}

TEST(Conformance, C01_PciIdentityBarsAndVectors) {
  TestRig rig(one_vm(false));
  const vfio_user::DeviceSpec& spec = rig.device().spec();
  EXPECT_EQ(spec.vendor, 0x15AD);
  EXPECT_EQ(spec.device, 0x0820);
  EXPECT_EQ(spec.class_code, 0x020700u);
  EXPECT_FALSE(spec.bars[0].is_64_bit);
  EXPECT_FALSE(spec.bars[1].is_64_bit);
  EXPECT_GE(spec.bars[0].size, 4096u);
  EXPECT_GE(spec.bars[1].size, 0x28u);
  EXPECT_GE(spec.bars[2].size, 4096u);
  EXPECT_GE(spec.msix.vectors, 3);
  EXPECT_EQ(spec.msix.table_bar, 0);
}

TEST(Conformance, C02_VersionReadsTheConfiguredValueAtAnyTime) {
  for (std::uint32_t version = 17; version <= 20; ++version) {
    RigOptions options = one_vm(false);
    options.config.version = version;
    if (version == 17) options.config.gid_type = verbs::GidType::kRoceV1;
    TestRig rig(options);
    EXPECT_EQ(rig.machine().read_register(kRegVersion), version);
    ASSERT_TRUE(rig.boot(0));
    EXPECT_EQ(rig.machine().read_register(kRegVersion), version);
    rig.guest().unload();
    EXPECT_EQ(rig.machine().read_register(kRegVersion), version);
  }
}

TEST(Conformance, C03_DsrHighFillsTheCapabilitiesAndNothingElse) {
  TestRig rig(one_vm(false));
  FakeGuest& guest = rig.guest();
  rig.machine().set_bus_master(true);
  guest.allocate_shared();
  const SharedRegion before = guest.shared();
  guest.announce_shared();
  const SharedRegion after = guest.shared();
  EXPECT_EQ(std::memcmp(&before, &after, offsetof(SharedRegion, caps)), 0);
  EXPECT_EQ(after.caps.max_qp, device::DeviceLimits{}.queue_pairs);
  EXPECT_EQ(after.caps.vendor_id, 0x15ADu);
  EXPECT_TRUE(guest.capabilities_fit());
  EXPECT_TRUE(std::ranges::all_of(
      std::span(rig.machine().ram().at(guest.shared_address()) + 280, kPage - 280),
      [](std::byte b) { return b == std::byte{0}; }));
}

TEST(Conformance, C04_NothingElseIsTouchedBeforeActivate) {
  TestRig rig(one_vm(false));
  FakeGuest& guest = rig.guest();
  GuestRam& ram = rig.machine().ram();
  rig.machine().set_bus_master(true);
  guest.allocate_shared();
  std::vector<std::uint64_t> pages{guest.shared().cmd_slot_dma, guest.shared().resp_slot_dma};
  std::ranges::copy(guest.async_pages().pages, std::back_inserter(pages));
  std::ranges::copy(guest.notification_pages().pages, std::back_inserter(pages));
  std::vector<std::vector<std::byte>> before;
  for (const std::uint64_t page : pages) before.push_back(snapshot(ram, page));
  guest.announce_shared();
  rig.advance(std::chrono::milliseconds(10));
  for (std::size_t i = 0; i < pages.size(); ++i) EXPECT_EQ(snapshot(ram, pages[i]), before[i]);
  for (std::uint16_t vector = 0; vector < 3; ++vector) {
    EXPECT_EQ(rig.machine().take_interrupt(vector), 0u);
  }
}

TEST(Conformance, C05_ActivateChecksTheSharedRegion) {
  constexpr std::uint64_t kNowhere = 0x77'0000'0000;
  using Bend = void (*)(FakeGuest&);
  const std::vector<Bend> bends{
      [](FakeGuest& g) { g.shared().cmd_slot_dma = kNowhere; },
      [](FakeGuest& g) { g.shared().cmd_slot_dma = 0; },
      [](FakeGuest& g) { g.shared().resp_slot_dma = kNowhere; },
      [](FakeGuest& g) { g.shared().async_ring_pages.pdir_dma = kNowhere; },
      [](FakeGuest& g) { g.shared().cq_ring_pages.pdir_dma = kNowhere; },
      [](FakeGuest& g) { g.shared().cq_ring_pages.num_pages = 0; },
      [](FakeGuest& g) { g.shared().cq_ring_pages.num_pages = 1; },
      [](FakeGuest& g) { g.shared().async_ring_pages.num_pages = 0xFFFFFFFF; },
      [](FakeGuest& g) {
        g.ram().as<std::uint64_t>(g.notification_pages().tables[0] + 16) = kNowhere;
      },
      [](FakeGuest& g) { g.ram().as<std::uint64_t>(g.async_pages().tables[0]) += 8; },
      [](FakeGuest& g) { g.ram().as<std::uint64_t>(g.async_pages().directory) = kNowhere; },
  };
  TestRig rig(one_vm(false));
  FakeGuest& guest = rig.guest();
  rig.machine().set_bus_master(true);
  EXPECT_NE(guest.activate(), 0u) << "there is no shared region yet";
  for (std::size_t i = 0; i < bends.size(); ++i) {
    guest.allocate_shared();
    bends[i](guest);
    guest.announce_shared();
    EXPECT_NE(guest.activate(), 0u) << "bend " << i;
    EXPECT_FALSE(rig.device().active());
  }
  guest.allocate_shared();
  guest.announce_shared();
  EXPECT_EQ(guest.activate(), 0u);
  EXPECT_TRUE(rig.device().active());
}

TEST(Conformance, C06_UnquiesceKeepsEverything) {
  TestRig rig;
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  const device::DeviceObjects before = rig.device(1).objects();
  EXPECT_EQ(rig.guest(1).unquiesce(), 0u);
  EXPECT_TRUE(same_objects(rig.device(1).objects(), before));
  ASSERT_TRUE(b.receive(1));
  ASSERT_TRUE(a.send(2, 0, 64));
  EXPECT_EQ(next_status(rig, b.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
}

TEST(Conformance, C07_ResetEndsAllObjectsAndAllDma) {
  TestRig rig;
  FakeGuest& guest = rig.guest(1);
  {
    FakeEnd a(rig.guest(0));
    FakeEnd b(guest);
    ASSERT_TRUE(connect(a, b));
    for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(b.receive(i, 0, 512));
    rig.settle();
    rig.machine(1).write_register(kRegCtl, kCtlReset);
    EXPECT_TRUE(no_objects(rig.device(1).objects()));
    EXPECT_FALSE(rig.device(1).active());
    guest.forget_everything();  // freed pages are watched from here
    for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(a.send(i, 0, 512));
    rig.advance(std::chrono::seconds(1));
    EXPECT_TRUE(rig.machine(1).ram().intact_after_free());
  }
  ASSERT_TRUE(rig.boot(1));
  FakeEnd a(rig.guest(0));
  FakeEnd b(guest);
  ASSERT_TRUE(connect(a, b));
  ASSERT_TRUE(b.receive(1));
  ASSERT_TRUE(a.send(2, 0, 64));
  EXPECT_EQ(next_status(rig, b.cq()), PVRDMA_WC_SUCCESS);
}

TEST(Conformance, C08_DsrHighOnAnActiveDeviceResetsFirst) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  {
    FakeEnd end(guest);
    ASSERT_FALSE(no_objects(rig.device().objects()));
    guest.forget_everything();
  }
  guest.allocate_shared();
  guest.announce_shared();
  EXPECT_TRUE(no_objects(rig.device().objects()));
  EXPECT_FALSE(rig.device().active());
  EXPECT_EQ(guest.activate(), 0u);
  EXPECT_TRUE(rig.device().active());
}

TEST(Conformance, C09_NoDmaAndNoInterruptWithBusMasteringOff) {
  TestRig rig;
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  b.buffer().fill(std::byte{0});
  ASSERT_TRUE(b.receive(1, 0, 512));
  b.cq().arm();
  rig.settle();
  a.buffer().fill(std::byte{0x5C});
  rig.machine(1).set_bus_master(false);
  ASSERT_TRUE(a.send(2, 0, 512));
  rig.advance(std::chrono::milliseconds(1));
  EXPECT_EQ(b.buffer().load(0, 512), std::vector<std::byte>(512));
  EXPECT_EQ(b.cq().unconsumed(), 0u);
  EXPECT_EQ(rig.machine(1).take_interrupt(kVectorCq), 0u);
}

TEST(Conformance, C10_MaskBitsHoldVectorsBackUntilCleared) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  FakeCq& cq = guest.create_cq(guest.kernel(), 16);
  FlushSource source(guest, pd, cq);
  rig.machine().write_register(kRegImr, 1u << kVectorCq);
  cq.arm();
  ASSERT_TRUE(source.produce());
  rig.settle();
  EXPECT_EQ(rig.machine().take_interrupt(kVectorCq), 0u);
  rig.machine().write_register(kRegImr, 0);
  EXPECT_EQ(rig.machine().take_interrupt(kVectorCq), 1u) << "a masked vector is latched";
}

TEST(Conformance, C10_AllVectorsAreMaskedAfterReset) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  guest.unload();
  rig.machine().set_bus_master(true);
  guest.allocate_shared();
  guest.announce_shared();
  rig.machine().write_register(kRegCtl, kCtlActivate);  // IMR stays as reset left it
  ASSERT_EQ(rig.machine().read_register(kRegErr), 0u);
  QueryPort port{};
  port.port_num = 1;
  ASSERT_EQ(guest.submit(port), 0u);
  rig.settle();
  EXPECT_EQ(rig.machine().take_interrupt(kVectorResponse), 0u);
  rig.machine().write_register(kRegImr, 0);
  EXPECT_EQ(rig.machine().take_interrupt(kVectorResponse), 1u);
}

TEST(Conformance, C11_UnknownControlValuesAndOpcodesAreRefused) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  for (const std::uint32_t value : {3u, 4u, 0x80000000u, 0xFFFFFFFFu}) {
    rig.machine().write_register(kRegCtl, value);
    EXPECT_NE(rig.machine().read_register(kRegErr), 0u) << value;
  }
  for (const std::uint32_t opcode : {21u, 22u, 255u, 0x80000000u, 0xFFFFFFFFu}) {
    RequestHeader header{};
    header.cmd = opcode;
    EXPECT_NE(guest.submit_bytes(std::as_bytes(std::span(&header, 1))), 0u) << opcode;
    rig.settle();
    EXPECT_EQ(rig.machine().take_interrupt(kVectorResponse), 0u) << opcode;
  }
  EXPECT_TRUE(rig.device().active());
  EXPECT_NE(guest.open_context().handle, 0u);
}

TEST(Conformance, C12_ReadingTheCauseRegisterClearsIt) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  QueryPort port{};
  port.port_num = 1;
  ASSERT_EQ(guest.submit(port), 0u);
  rig.settle();
  rig.machine().read_register(kRegIcr);
  EXPECT_EQ(rig.machine().read_register(kRegIcr), 0u);
  EXPECT_EQ(rig.machine().take_interrupt(kVectorResponse), 1u) << "the message is not taken back";
}

}  // namespace
}  // namespace paravane::fake
