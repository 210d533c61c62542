// The device-level classes of the vulnerabilities that were found in QEMU's old
// PVRDMA model, each as a regression test. The classes that live in guest memory
// (page tables, mappings) have theirs beside guestmem/ as well.

#include <dirent.h>

#include <algorithm>
#include <vector>

#include "conformance/test_rig.h"

namespace paravane::fake {
namespace {

constexpr std::uint64_t kNowhere = 0x77'0000'0000;

RigOptions one_vm(bool boot = true) {
  RigOptions options;
  options.vms = 1;
  options.boot = boot;
  return options;
}

std::size_t open_descriptors() {
  DIR* directory = ::opendir("/proc/self/fd");
  std::size_t count = 0;
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

// A device that cannot be made, or whose guest cannot be activated, leaves
// nothing behind.
TEST(Cve, CVE_2018_20123_AFailedStartLeaksNothing) {
  TestRig rig(one_vm(false));
  fabric::Directory directory(rig.local());
  const auto port = directory.join(verbs::AdapterId{9}, "x", {});
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 200; ++i) {
    device::DeviceConfig config;
    config.limits.queue_pairs = i % 2 == 0 ? 0 : 1024;
    const auto made =
        device::PvrdmaDevice::create(config, verbs::AdapterId{9}, rig.memory(), rig.interrupts(),
                                     {rig.timers(), rig.turn_clock()}, *port);
    EXPECT_EQ(made.has_value(), i % 2 != 0);
  }
  EXPECT_EQ(open_descriptors(), before);
  FakeGuest& guest = rig.guest();
  rig.machine().set_bus_master(true);
  for (int i = 0; i < 200; ++i) {
    guest.allocate_shared();
    guest.shared().cq_ring_pages.num_pages = 0;
    guest.announce_shared();
    EXPECT_NE(guest.activate(), 0u);
    guest.release_shared();
  }
  EXPECT_EQ(open_descriptors(), before);
  ASSERT_TRUE(rig.boot(0));
}

// A count of SGEs that the request's own room does not hold.
TEST(Cve, CVE_2018_20124_UnboundedSgeCountInSends) {
  TestRig rig;
  for (const std::uint32_t count : {2u, 32u, 33u, 128u, 252u, 0x10000u, 0x10000000u, 0xFFFFFFFFu}) {
    FakeEnd a(rig.guest(0));
    FakeEnd b(rig.guest(1));
    ASSERT_TRUE(connect(a, b));
    ASSERT_TRUE(b.receive(1));
    const pvrdma_sge sge = a.buffer().sge(0, 8);
    ASSERT_TRUE(a.qp().queue_send({.wr_id = count, .sges = {&sge, 1}}));
    a.qp().send_slot(0).num_sge = count;
    a.qp().ring(kRingSend);
    const auto completion = next_completion(rig, a.cq());
    ASSERT_TRUE(completion.has_value()) << count;
    EXPECT_EQ(completion->status, +PVRDMA_WC_LOC_QP_OP_ERR) << count;
    EXPECT_EQ(completion->wr_id, count);
    EXPECT_EQ(b.cq().unconsumed(), 0u);
  }
}

TEST(Cve, CVE_2018_20124_UnboundedSgeCountInReceives) {
  TestRig rig;
  for (const std::uint32_t count : {2u, 33u, 0x10000000u, 0xFFFFFFFFu}) {
    FakeEnd a(rig.guest(0));
    FakeEnd b(rig.guest(1));
    ASSERT_TRUE(connect(a, b));
    const pvrdma_sge sge = b.buffer().sge(0, 64);
    ASSERT_TRUE(b.qp().queue_receive({.wr_id = count, .sges = {&sge, 1}}));
    b.qp().receive_slot(0).num_sge = count;
    b.qp().ring(kRingReceive);
    ASSERT_TRUE(a.send(1, 0, 8));
    EXPECT_EQ(next_status(rig, b.cq()), PVRDMA_WC_LOC_QP_OP_ERR) << count;
    EXPECT_NE(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS) << count;
  }
}

// Rings that would need an absurd amount of memory, or none at all.
TEST(Cve, CVE_2018_20125_HugeAndEmptyRingsAreRefused) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  FakeCq& cq = guest.create_cq(guest.kernel(), 16);
  PageSet pages = guest.ram().allocate_set(3, Layout::kContiguous);
  const device::DeviceObjects before = rig.device().objects();
  // 256 and 4096 are within every limit, but not within three pages.
  for (const std::uint32_t entries :
       {0u, 3u, 256u, 4096u, 1u << 20, 1u << 24, 1u << 31, 0xFFFFFFFFu}) {
    for (const std::uint32_t chunks : {0u, 1u, 3u, 0x40001u, 0x80000000u, 0xFFFFFFFFu}) {
      CreateCq request = guest.cq_request(guest.kernel(), entries, pages);
      request.nchunks = chunks;
      EXPECT_TRUE(guest.run(request).refused()) << entries << "/" << chunks;
    }
  }
  // The fifth page is there and is not the queue's.
  const PageSet five = guest.ram().allocate_set(5, Layout::kContiguous);
  CreateCq short_of_one = guest.cq_request(guest.kernel(), 256, five);
  short_of_one.nchunks = 4;
  EXPECT_TRUE(guest.run(short_of_one).refused());
  const QpSpec spec{.pd = &pd, .send_cq = &cq, .receive_cq = &cq};
  for (const std::uint32_t requests : {0u, 4096u, 1u << 20, 1u << 31, 0xFFFFFFFFu}) {
    for (const std::uint32_t sges : {0u, 1u, 33u, 0x08000000u, 0xFFFFFFFFu}) {
      for (const std::uint16_t chunks :
           {std::uint16_t{0}, std::uint16_t{3}, std::uint16_t{65535}}) {
        CreateQp request = guest.qp_request(spec, pages);
        request.max_send_wr = requests;
        request.max_send_sge = sges;
        request.total_chunks = chunks;
        EXPECT_TRUE(guest.run(request).refused()) << requests << "/" << sges;
      }
    }
  }
  EXPECT_TRUE(same_objects(rig.device().objects(), before));
}

// Creating that fails late gives back what it took early.
TEST(Cve, CVE_2018_20126_FailedCreatesLeakNothing) {
  RigOptions options = one_vm();
  options.config.limits.queue_pairs = 8;
  options.config.limits.completion_queues = 8;
  options.config.limits.memory_regions = 8;
  TestRig rig(options);
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  FakeCq& cq = guest.create_cq(guest.kernel(), 16);
  const QpSpec spec{.pd = &pd, .send_cq = &cq, .receive_cq = &cq};
  PageSet bad = guest.ram().allocate_set(3, Layout::kContiguous);
  guest.ram().as<std::uint64_t>(bad.tables[0] + 16) = kNowhere;  // the last page
  PageSet good = guest.ram().allocate_set(3, Layout::kContiguous);
  QpSpec gsi = spec;
  gsi.type = kTypeGsi;
  guest.create_qp(gsi);
  const device::DeviceObjects before = rig.device().objects();
  const std::size_t descriptors = open_descriptors();
  for (int i = 0; i < 300; ++i) {
    EXPECT_TRUE(guest.run(guest.qp_request(spec, bad)).refused());
    EXPECT_TRUE(guest.run(guest.cq_request(guest.kernel(), 128, bad)).refused());
    EXPECT_TRUE(guest.run(guest.mr_request(pd, 0, 3 * kPage, bad)).refused());
    // A second GSI queue pair is refused only after a handle was found for it.
    EXPECT_TRUE(guest.run(guest.qp_request(gsi, good)).refused());
  }
  EXPECT_TRUE(same_objects(rig.device().objects(), before));
  EXPECT_EQ(open_descriptors(), descriptors);
  for (int i = 0; i < 6; ++i) guest.create_qp(spec);
  for (int i = 0; i < 7; ++i) guest.create_cq(guest.kernel(), 4);
  for (int i = 0; i < 8; ++i) guest.register_memory(pd, 100);
}

// Reads of places that nobody reads.
TEST(Cve, CVE_2018_20191_ReadsOfDoorbellPagesAndOtherPlaces) {
  for (const auto mode : {device::DoorbellMode::kMapped, device::DoorbellMode::kTrapped}) {
    RigOptions options = one_vm();
    options.config.doorbells = mode;
    TestRig rig(options);
    device::PvrdmaDevice& device = rig.device();
    for (unsigned bar = 0; bar < 3; ++bar) {
      const std::uint64_t size = device.spec().bars[bar].size;
      for (const std::uint64_t bytes : {1u, 2u, 4u, 8u, 64u}) {
        for (std::uint64_t at = 0; at + bytes <= std::min<std::uint64_t>(size, 8192); at += 3) {
          std::vector<std::byte> out(bytes, std::byte{0xEE});
          device.read_bar(bar, at, out);
          ASSERT_TRUE(bar != 2 || out == std::vector<std::byte>(bytes));
        }
      }
      std::byte last{0xEE};
      device.read_bar(bar, size - 1, {&last, 1});
      EXPECT_EQ(last, std::byte{0});
    }
    EXPECT_NE(rig.guest().open_context().handle, 0u);
  }
}

// Bad requests and bad indices must not be looked at again and again.
TEST(Cve, CVE_2018_20216_BadRingsDoNotKeepTheWorkerBusy) {
  TestRig rig;
  for (const std::uint32_t index : {16u + 1u, 32u, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu}) {
    FakeEnd a(rig.guest(0));
    FakeEnd b(rig.guest(1));
    ASSERT_TRUE(connect(a, b));
    a.qp().send_ring().set_tail(index);
    a.qp().receive_ring().set_tail(index);
    a.qp().ring(kRingSend | kRingReceive);
    rig.advance(std::chrono::milliseconds(2));
    EXPECT_TRUE(rig.run_until_idle(1000)) << std::hex << index;
    const std::uint64_t turns = rig.turns();
    rig.advance(std::chrono::milliseconds(100));
    EXPECT_LT(rig.turns() - turns, 500u) << std::hex << index;
  }
}

TEST(Cve, CVE_2018_20216_EveryBadRequestIsConsumedOnce) {
  TestRig rig;
  FakeEnd a(rig.guest(0));
  FakeEnd b(rig.guest(1));
  ASSERT_TRUE(connect(a, b));
  for (std::uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE(a.qp().queue_send({.wr_id = i, .opcode = 0xBAD, .flags = 0, .sges = {}}));
  }
  a.qp().ring(kRingSend);
  for (std::uint64_t i = 0; i < 10; ++i) {
    const auto completion = next_completion(rig, a.cq());
    ASSERT_TRUE(completion.has_value());
    EXPECT_EQ(completion->wr_id, i);
    EXPECT_EQ(completion->status, +(i == 0 ? PVRDMA_WC_LOC_QP_OP_ERR : PVRDMA_WC_WR_FLUSH_ERR));
  }
  EXPECT_TRUE(rig.run_until_idle(1000));
  EXPECT_EQ(a.cq().unconsumed(), 0u);
  EXPECT_EQ(a.qp().send_ring().head(), a.qp().send_ring().tail());
}

// Lengths and page counts that do not belong together.
TEST(Cve, CVE_2021_3582_RegionLengthsThatOutgrowTheirPages) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  PageSet pages = guest.ram().allocate_set(2, Layout::kContiguous);
  const std::uint64_t lengths[] = {2 * kPage + 1,        1ull << 30,           (1ull << 30) + 1,
                                   1ull << 32,           (1ull << 32) + kPage, 1ull << 44,
                                   (1ull << 44) + kPage, 1ull << 63,           ~0ull};
  for (const std::uint64_t length : lengths) {
    for (const std::uint32_t chunks : {0u, 1u, 2u, 3u, 0x40000u, 0x40001u, 0x100000u, ~0u}) {
      for (const std::uint64_t start : {0ull, 0xFFFull, ~0ull - kPage, ~0ull}) {
        CreateMr request = guest.mr_request(pd, start, length, pages);
        request.nchunks = chunks;
        EXPECT_TRUE(guest.run(request).refused()) << length << "/" << chunks << "/" << start;
      }
    }
  }
  EXPECT_EQ(rig.device().objects().memory_regions, 0u);
}

// Sizes of the device rings that overflow, or leave no room for an element.
TEST(Cve, CVE_2021_3607_RingPageCountsAreChecked) {
  TestRig rig(one_vm(false));
  FakeGuest& guest = rig.guest();
  rig.machine().set_bus_master(true);
  for (const std::uint32_t pages :
       {0u, 1u, 0x40001u, 0x00100000u, 0x00100001u, 0x40000001u, 0x80000001u, 0xFFFFFFFFu}) {
    for (const bool async : {false, true}) {
      guest.allocate_shared();
      (async ? guest.shared().async_ring_pages : guest.shared().cq_ring_pages).num_pages = pages;
      guest.announce_shared();
      EXPECT_NE(guest.activate(), 0u) << pages;
      EXPECT_FALSE(rig.device().active());
      guest.release_shared();
    }
  }
  ASSERT_TRUE(rig.boot(0));
}

// A ring whose set-up fails half way.
TEST(Cve, CVE_2021_3608_HalfMadeRingsAreForgotten) {
  TestRig rig(one_vm(false));
  FakeGuest& guest = rig.guest();
  rig.machine().set_bus_master(true);
  for (int i = 0; i < 100; ++i) {
    guest.allocate_shared();
    PageSet& ring = i % 2 == 0 ? guest.async_pages() : guest.notification_pages();
    const std::uint64_t entry = ring.tables[0] + 8 * static_cast<std::uint64_t>(i % 4);
    guest.ram().as<std::uint64_t>(entry) = i % 3 == 0 ? 0 : kNowhere;
    guest.announce_shared();
    EXPECT_NE(guest.activate(), 0u) << i;
    RequestHeader command{};
    EXPECT_NE(guest.submit_bytes(std::as_bytes(std::span(&command, 1))), 0u);
    guest.release_shared();
  }
  rig.advance(std::chrono::milliseconds(10));
  EXPECT_TRUE(rig.machine().ram().intact_after_free());
  ASSERT_TRUE(rig.boot(0));
}

// Commands, doorbells and control writes before there is a shared region, between
// its announcement and ACTIVATE, and after a reset.
TEST(Cve, CVE_2022_1050_CommandsBeforeActivateAreRefused) {
  TestRig rig(one_vm(false));
  GuestMachine& machine = rig.machine();
  FakeGuest& guest = rig.guest();
  const auto poke = [&](const char* when) {
    machine.write_register(kRegRequest, 0);
    EXPECT_NE(machine.read_register(kRegErr), 0u) << when;
    machine.write_register(kRegCtl, kCtlUnquiesce);
    machine.write_register(kRegCtl, 77);
    for (std::uint64_t offset = 0; offset < 2 * kPage; offset += 4) {
      machine.write_doorbell(offset, 0xC0000001);
    }
    rig.advance(std::chrono::milliseconds(5));
    EXPECT_FALSE(rig.device().active()) << when;
    for (std::uint16_t vector = 0; vector < 3; ++vector) {
      EXPECT_EQ(machine.take_interrupt(vector), 0u) << when;
    }
  };
  poke("with bus mastering off");
  machine.set_bus_master(true);
  poke("without a shared region");
  guest.allocate_shared();
  poke("with a region that was not announced");
  guest.announce_shared();
  poke("before ACTIVATE");
  guest.release_shared();
  ASSERT_TRUE(rig.boot(0));
  guest.unload();
  machine.set_bus_master(true);
  poke("after RESET");
  machine.set_bus_master(false);
  ASSERT_TRUE(rig.boot(0));
  machine.reset(vfio_user::ResetCause::kMachineReset);
  guest.forget_everything();
  machine.set_bus_master(true);
  poke("after a machine reset");
}

TEST(Cve, CVE_2022_1050_ARefusedActivateKeepsCommandsClosed) {
  TestRig rig(one_vm(false));
  FakeGuest& guest = rig.guest();
  rig.machine().set_bus_master(true);
  guest.allocate_shared();
  guest.shared().resp_slot_dma = kNowhere;
  guest.announce_shared();
  EXPECT_NE(guest.activate(), 0u);
  rig.machine().write_register(kRegRequest, 0);
  EXPECT_NE(rig.machine().read_register(kRegErr), 0u);
}

// More entries than one page table holds: the second table is looked up, and
// checked, not taken from beyond the first.
TEST(Cve, CVE_2023_1544_RingsBeyondOnePageTable) {
  RigOptions options = one_vm(false);
  options.guest.device_ring_pages = 600;
  TestRig rig(options);
  FakeGuest& guest = rig.guest();
  rig.machine().set_bus_master(true);
  for (const std::uint64_t bad : {std::uint64_t{0}, kNowhere, std::uint64_t{12}}) {
    guest.allocate_shared();
    ASSERT_EQ(guest.notification_pages().tables.size(), 2u);
    guest.ram().as<std::uint64_t>(guest.notification_pages().directory + 8) = bad;
    guest.announce_shared();
    EXPECT_NE(guest.activate(), 0u) << bad;
    guest.release_shared();
  }
  ASSERT_TRUE(rig.boot(0)) << "600 good pages are fine";
  FakePd& pd = guest.create_pd(guest.kernel());
  FakeCq& cq = guest.create_cq(guest.kernel(), 16);
  FlushSource source(guest, pd, cq);
  for (int i = 0; i < 3000; ++i) {
    cq.arm();
    ASSERT_TRUE(source.produce());
    ASSERT_EQ(next_status(rig, cq), PVRDMA_WC_WR_FLUSH_ERR);
    ASSERT_EQ(guest.take_notification(), cq.handle) << i;
  }
}

// ---- The same families, found anew in a model of 2026 ----

TEST(BadArithmetic, ThirtyTwoBitSumsOfSgeLengthsDoNotWrap) {
  TestRig rig;
  EndOptions many;
  many.queues.max_send_sge = many.queues.max_recv_sge = 32;
  many.buffer_bytes = 256 << 20;
  FakeEnd a(rig.guest(0), many);
  many.buffer_bytes = 4096;
  FakeEnd b(rig.guest(1), many);
  ASSERT_TRUE(connect(a, b));
  ASSERT_TRUE(b.receive(1, 0, 64));
  // 32 times 128 MiB + 2: 64 bytes, if the sum is kept in 32 bits.
  const std::vector<pvrdma_sge> sges(32, a.buffer().sge(0, (128u << 20) + 2));
  ASSERT_TRUE(a.qp().post_send({.wr_id = 2, .sges = sges}));
  const std::uint32_t status = next_status(rig, a.cq());
  EXPECT_TRUE(status == PVRDMA_WC_LOC_LEN_ERR || status == PVRDMA_WC_REM_INV_REQ_ERR) << status;
  const auto received = next_completion(rig, b.cq());
  EXPECT_TRUE(!received || received->status != PVRDMA_WC_SUCCESS);
}

TEST(BadArithmetic, RemoteAddressesThatWrapAreRefused) {
  TestRig rig;
  for (const std::uint32_t opcode : {PVRDMA_WR_RDMA_WRITE, PVRDMA_WR_RDMA_READ}) {
    for (const std::uint64_t shift : {~0ull, ~0ull - 7, 1ull << 63, 0ull - 4096, 16384ull - 7}) {
      FakeEnd a(rig.guest(0));
      // Its first and last page are not all its own.
      FakeEnd b(rig.guest(1), {.memory = {.page_offset = 512}, .queues = {}});
      ASSERT_TRUE(connect(a, b));
      ASSERT_TRUE(a.post({.wr_id = 1,
                          .opcode = opcode,
                          .remote_addr = b.buffer().va() + shift,
                          .rkey = b.buffer().rkey,
                          .sges = {}},
                         0, 8));
      EXPECT_EQ(next_status(rig, a.cq()), PVRDMA_WC_REM_ACCESS_ERR) << std::hex << shift;
    }
  }
}

TEST(BadArithmetic, PageDirectoriesEndAtOneGigabyte) {
  auto options = one_vm();
  options.memory.page_list_bytes = std::uint64_t{64} << 20;  // for three of them
  TestRig rig(options);
  FakeGuest& guest = rig.guest();
  FakePd& pd = guest.create_pd(guest.kernel());
  // One page everywhere, and behind the directory a page that would do as its
  // continuation.
  PageSet pages;
  pages.pages.push_back(guest.ram().allocate(1));
  pages.directory = guest.ram().allocate(2);
  pages.tables.push_back(guest.ram().allocate(1));
  for (std::uint64_t i = 0; i < 1024; ++i) {
    guest.ram().as<std::uint64_t>(pages.directory + 8 * i) = pages.tables[0];
  }
  for (std::uint64_t i = 0; i < 512; ++i) {
    guest.ram().as<std::uint64_t>(pages.tables[0] + 8 * i) = pages.pages[0];
  }
  constexpr std::uint64_t kMost = 512ull * 512 * kPage;
  EXPECT_TRUE(guest.run(guest.mr_request(pd, 0, kMost, pages)).accepted());
  EXPECT_TRUE(guest.run(guest.mr_request(pd, 0, kMost + 1, pages)).refused());
  EXPECT_TRUE(guest.run(guest.mr_request(pd, 1, kMost, pages)).refused());
}

TEST(BadArithmetic, ASuccessfulWriteHasMovedItsBytes) {
  TestRig rig(one_vm());
  FakeGuest& guest = rig.guest();
  FakeEnd a(guest);
  FakeEnd b(guest);  // both ends in one VM
  ASSERT_TRUE(connect(a, b));
  a.buffer().fill_pattern(77);
  ASSERT_TRUE(a.write(1, 0, 10'000, b.buffer(), 5));
  ASSERT_EQ(next_status(rig, a.cq()), PVRDMA_WC_SUCCESS);
  EXPECT_EQ(b.buffer().load(5, 10'000), a.buffer().load(0, 10'000));
  EXPECT_EQ(*b.buffer().at(4), std::byte{0});
}

}  // namespace
}  // namespace paravane::fake
