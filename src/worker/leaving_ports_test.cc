#include "worker/leaving_ports.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "testing/fake_guest_end.h"
#include "testing/fake_guest_machine.h"
#include "testing/raw_vfio_client.h"
#include "testing/vfio_server_rig.h"

namespace paravane::worker {
namespace {

constexpr verbs::AdapterId kId{7};

class Nowhere final : public transport_channel::LocalOwners {
 public:
  std::optional<verbs::AdapterId> find_local(verbs::SegmentId, const verbs::Gid&,
                                             verbs::GidType) const override {
    return std::nullopt;
  }
};

class AtOnce final : public MappingSink {
 public:
  void take(EndedMapping) override {}
};

// One adapter, whose burial takes a turn for each object.
class LeavingPortsTest : public testing::Test {
 protected:
  LeavingPortsTest() {
    VmPortConfig config;
    config.adapter.vm = "vm1";
    config.device.name = "vm1";
    config.device.mac = {0x00, 0x50, 0x56, 0x01, 0x02, 0x01};
    config.device.burial_effort = 1;
    config.socket = directory_.path() / "vm1.sock";
    auto made = VmPort::create(config, kId,
                               {.local = local_,
                                .roce = roce_,
                                .tcp = tcp_,
                                .hca = hca_,
                                .directory = gids_,
                                .event_signal = event_signal_,
                                .mappings = mappings_,
                                .clock = clock_,
                                .speech = speech_});
    EXPECT_TRUE(made);
    port_ = std::move(*made);
  }

  void turn(Tenant& tenant) {
    clock_.now += std::chrono::microseconds(100);
    verbs::Budget budget{.bytes = 1 << 20, .operations = 256};
    tenant.turn(clock_.now, budget);
  }
  void serve() {
    port_->on_readable();
    turn(*port_);
  }

  // A VMM that is attached, and the guest in it.
  void attach() {
    vmm_.emplace(port_->config().socket, [this] { serve(); });
    ASSERT_TRUE(vmm_->connected());
    vmm_->negotiate();
    ASSERT_TRUE(port_->server().attached());
    machine_.emplace(port_->memory(), port_->interrupts(), std::uint64_t{64} << 20,
                     [this] { turn(*port_); });
    port_->device().set_answer([this](vfio_user::ReplyToken token) { machine_->on_answer(token); });
    machine_->plug(port_->device());
    guest_.emplace(*machine_, fake::GuestOptions{});
    ASSERT_TRUE(guest_->boot(port_->config().device.mac, 1));
  }

  TempDir directory_;
  TurnClock clock_{Instant{} + std::chrono::hours(1)};
  std::unique_ptr<EventLoop> loop_ = *EventLoop::create();
  EventSignal event_signal_;
  transport_local::LocalTransport local_;
  transport_roce::RoceTransport roce_{clock_, 0};
  fabric::Directory gids_{local_};
  Nowhere owners_;
  transport_channel::ChannelTransport tcp_{{.incarnation = 1}, *loop_, owners_, {}};
  transport_channel::ChannelTransport hca_{{.incarnation = 1, .name = "hca"}, *loop_, owners_, {}};
  AtOnce mappings_;
  PortWatch::Speech speech_{
      .tell = [](const model::Event&) {},
      .name = [](const verbs::PathUse::Way&) { return PortWatch::WayName{}; }};
  std::vector<verbs::AdapterId> left_;
  std::optional<RawVfioClient> vmm_;
  std::optional<fake::GuestMachine> machine_;
  std::optional<fake::FakeGuest> guest_;
  std::unique_ptr<VmPort> port_;
  LeavingPorts leaving_{[this](verbs::AdapterId id) { left_.push_back(id); }};
};

TEST_F(LeavingPortsTest, AnAdapterThatNobodyUsedIsGoneAtOnce) {
  leaving_.add(std::move(port_));
  EXPECT_FALSE(leaving_.has_work());
  EXPECT_EQ(left_, std::vector{kId});
}

TEST_F(LeavingPortsTest, WhatTheGuestHadIsBuriedInTurns) {
  attach();
  fake::FakeEnd end(*guest_);
  for (int i = 0; i < 20; ++i) guest_->create_qp(end.qp().spec());
  const std::filesystem::path socket = port_->config().socket;
  const VmPort& port = *port_;
  leaving_.add(std::move(port_));
  EXPECT_FALSE(std::filesystem::exists(socket));
  EXPECT_TRUE(gids_.shared_gids().empty());
  EXPECT_EQ(gids_.gid_count(), 0u);
  EXPECT_FALSE(port.left());
  EXPECT_TRUE(left_.empty()) << "its number is not given to another yet";
  int turns = 0;
  for (; leaving_.has_work() && turns < 1000; ++turns) turn(leaving_);
  EXPECT_GT(turns, 20);
  EXPECT_EQ(left_, std::vector{kId});
}

}  // namespace
}  // namespace paravane::worker
