// Each command of a guest's driver, with memory that fails at one allocation after the other.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>

#include "testing/device_rig.h"
#include "testing/fake_guest_end.h"
#include "testing/log_capture.h"
#include "testing/scarce_memory.h"

namespace paravane::fake {
namespace {

class CommandScarcity : public ::testing::Test {
 protected:
  device::DeviceObjects counts() { return rig_.device(0).objects(); }

  // Until it goes through; `undo` takes away what it made.
  template <typename Request>
  void run_with_less_and_less(const Request& request,
                              const std::function<void(const typename Request::Response&)>& undo) {
    const device::DeviceObjects before = counts();
    bool has_failed = true;
    for (std::uint64_t number = 1; has_failed; ++number) {
      bool is_accepted = false;
      typename Request::Response response{};
      {
        const ScarceMemory scarce(number);
        const auto outcome = guest_.run(request);
        has_failed = scarce.has_failed();
        is_accepted = outcome.accepted();
        response = outcome.response;
      }
      if (is_accepted) {
        undo(response);
      } else {
        ++refused_;
        ASSERT_TRUE(has_failed) << number;
      }
      rig_.run_until_idle();
      ASSERT_EQ(counts(), before) << number;
      ASSERT_EQ(rig_.device(0).fatal_reason(), "") << number;
    }
  }
  template <typename Destroy>
  void destroy(std::uint32_t handle) {
    Destroy request{};
    request.handle = handle;
    ASSERT_TRUE(guest_.run(request).accepted());
  }
  void TearDown() override {
    EXPECT_GT(refused_, 0u);
    // The device serves as before.
    FakeEnd a(rig_.guest(0));
    FakeEnd b(rig_.guest(1));
    ASSERT_TRUE(connect(a, b));
    ASSERT_TRUE(b.receive(1));
    ASSERT_TRUE(a.send(2, 0, 64));
    rig_.run_until_idle();
    EXPECT_EQ(counts().queue_pairs, 2u);
  }

  const LogCapture log_;
  DeviceRig rig_;
  FakeGuest& guest_ = rig_.guest(0);
  FakeEnd end_{guest_};
  std::uint64_t refused_ = 0;
};

TEST_F(CommandScarcity, CreateContext) {
  run_with_less_and_less(guest_.context_request(guest_.next_uar_page()),
                         [&](const auto& made) { destroy<DestroyUc>(made.handle); });
}

TEST_F(CommandScarcity, CreateProtectionDomain) {
  CreatePd request{};
  request.handle = end_.context().handle;  // the context
  run_with_less_and_less(request, [&](const auto& made) { destroy<DestroyPd>(made.handle); });
}

TEST_F(CommandScarcity, CreateMemoryRegion) {
  PageSet pages = guest_.ram().allocate_set(1024, Layout::kScattered);
  run_with_less_and_less(guest_.mr_request(end_.pd(), 0x7000'0000, 1024 * kPage, pages),
                         [&](const auto& made) { destroy<DestroyMr>(made.mr_handle); });
}

TEST_F(CommandScarcity, CreateCompletionQueue) {
  PageSet pages = guest_.ram().allocate_set(5, Layout::kScattered);
  run_with_less_and_less(guest_.cq_request(end_.context(), 256, pages),
                         [&](const auto& made) { destroy<DestroyCq>(made.cq_handle); });
}

TEST_F(CommandScarcity, CreateSharedReceiveQueue) {
  const SrqSpec spec{.pd = &end_.pd()};
  PageSet pages = guest_.ram().allocate_set(spec.pages(), Layout::kScattered);
  run_with_less_and_less(guest_.srq_request(spec, pages),
                         [&](const auto& made) { destroy<DestroySrq>(made.handle); });
}

TEST_F(CommandScarcity, CreateQueuePair) {
  QpSpec spec{.pd = &end_.pd(), .send_cq = &end_.cq(), .receive_cq = &end_.cq()};
  for (const std::uint8_t type : {kTypeRc, kTypeUd}) {
    spec.type = type;
    PageSet pages =
        guest_.ram().allocate_set(1 + spec.send_pages() + spec.receive_pages(), Layout::kScattered);
    run_with_less_and_less(guest_.qp_request(spec, pages),
                           [&](const auto& made) { destroy<DestroyQp>(made.words[1]); });
  }
}

TEST_F(CommandScarcity, BindGid) {
  CreateBind request{};
  request.mtu = 1024;
  request.vlan = 0xFFF;
  request.index = 3;
  const GidBytes gid = gid_of_ipv4({10, 0, 0, 77});
  std::ranges::copy(gid, std::begin(request.new_gid));
  request.gid_type = guest_.caps().gid_types;
  run_with_less_and_less(request, [&](const auto&) {
    DestroyBind gone{};
    gone.index = 3;
    ASSERT_TRUE(guest_.run(gone).accepted());
  });
}

}  // namespace
}  // namespace paravane::fake
