// An adapter whose engine is killed, and that another engine goes on with from what was kept.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "testing/raw_vfio_client.h"
#include "testing/vfio_server_rig.h"
#include "worker/port_keeper.h"
#include "worker/vm_port.h"

namespace paravane::worker {
namespace {

class NoOtherHosts final : public transport_channel::LocalOwners {
 public:
  std::optional<verbs::AdapterId> find_local(verbs::SegmentId, const verbs::Gid&,
                                             verbs::GidType) const override {
    return std::nullopt;
  }
};

class UnmappedAtOnce final : public MappingSink {
 public:
  void take(EndedMapping) override {}
};

// As the holder has it.
class FakeHolder final : public PortKeeper {
 public:
  void keep(const model::AdapterName&, std::span<const std::byte> state,
            std::span<const int> descriptors) override {
    kept_.emplace(
        PortParcel{.adapter = {}, .state = {state.begin(), state.end()}, .descriptors = {}});
    for (const int fd : descriptors) kept_->descriptors.push_back(copy(fd));
  }
  void drop(const model::AdapterName&) override { kept_.reset(); }

  bool has_it() const { return kept_.has_value(); }
  PortParcel give() const {
    PortParcel given{.adapter = {}, .state = kept_->state, .descriptors = {}};
    for (const UniqueFd& one : kept_->descriptors) given.descriptors.push_back(copy(one.get()));
    return given;
  }
  vfio_user::Exchange exchange() const {
    return vfio_user::Exchange::take_over(copy(kept_->descriptors[0].get())).value();
  }

 private:
  static UniqueFd copy(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)); }
  std::optional<PortParcel> kept_;
};

class KeepingEngine {
 public:
  KeepingEngine(const TurnClock& clock, PortKeeper& keeper) : clock_(clock), keeper_(keeper) {}

  PortNetwork network() {
    return {.local = local_,
            .roce = roce_,
            .tcp = tcp_,
            .hca = hca_,
            .directory = gids_,
            .event_signal = event_signal_,
            .mappings = mappings_,
            .clock = clock_,
            .speech = speech_,
            .keeper = &keeper_};
  }
  std::vector<model::Event> take_events() { return std::exchange(events_, {}); }

 private:
  const TurnClock& clock_;
  PortKeeper& keeper_;
  std::unique_ptr<EventLoop> loop_ = *EventLoop::create();
  EventSignal event_signal_;
  transport_local::LocalTransport local_;
  transport_roce::RoceTransport roce_{clock_, 0};
  fabric::Directory gids_{local_};
  NoOtherHosts owners_;
  transport_channel::ChannelTransport tcp_{{.incarnation = 1}, *loop_, owners_, {}};
  transport_channel::ChannelTransport hca_{{.incarnation = 1, .name = "hca"}, *loop_, owners_, {}};
  UnmappedAtOnce mappings_;
  std::vector<model::Event> events_;
  PortWatch::Speech speech_{
      .tell = [this](model::Event event) { events_.push_back(std::move(event)); },
      .name = [](const verbs::PathUse::Way&) { return PortWatch::WayName{}; }};
};

class KeptPort : public testing::Test {
 protected:
  KeptPort() {
    config_.adapter.vm = "vm1";
    config_.device.name = "vm1";
    config_.device.mac = {0x00, 0x50, 0x56, 0x01, 0x02, 0x01};
    config_.socket = directory_.path() / "vm1.sock";
    engines_.push_back(std::make_unique<KeepingEngine>(clock_, holder_));
    port_ = VmPort::create(config_, verbs::AdapterId{1}, engines_.back()->network()).value();
    vmm_.emplace(config_.socket, [this] { turn(); });
    EXPECT_TRUE(vmm_->negotiate());
    vmm_->set_bus_master(true);
  }
  ~KeptPort() override {
    port_->abandon();
    port_.reset();
  }

  void turn() {
    clock_.now += std::chrono::microseconds(100);
    port_->on_readable();
    verbs::Budget budget{.bytes = 1 << 20, .operations = 256};
    port_->turn(clock_.now, budget);
  }
  // The engine is killed, in a turn of this VM's or not, and another one goes on.
  Status kill(bool in_turn, bool from_outside = false) {
    if (in_turn) holder_.exchange().mark_turn(true);
    port_->abandon();
    PortParcel parcel = holder_.give();
    parcel.may_be_blamed = !from_outside;
    engines_.push_back(std::make_unique<KeepingEngine>(clock_, holder_));
    auto port =
        VmPort::adopt(config_, verbs::AdapterId{1}, engines_.back()->network(), std::move(parcel));
    if (!port) return std::unexpected(port.error());
    port_ = std::move(*port);
    port_->keep();
    port_->begin();
    return {};
  }
  // Why the adapter has failed, each time that this was told.
  std::vector<std::string> failures() {
    std::vector<std::string> reasons;
    for (const model::Event& event : engines_.back()->take_events()) {
      if (event.type == "adapter.failed") reasons.push_back(event.fields.at("reason"));
    }
    return reasons;
  }
  bool is_served() {
    const auto vendor = vmm_->read_value<std::uint16_t>(vfio_user::kConfigRegion, 0);
    return vendor == 0x15AD && port_->server().attached();
  }

  TempDir directory_;
  TurnClock clock_{Instant(std::chrono::hours(1))};
  FakeHolder holder_;
  VmPortConfig config_;
  std::vector<std::unique_ptr<KeepingEngine>> engines_;
  std::unique_ptr<VmPort> port_;
  std::optional<RawVfioClient> vmm_;
};

TEST_F(KeptPort, GoesOnWithItsVmm) {
  EXPECT_TRUE(kill(false));
  EXPECT_TRUE(is_served());
  EXPECT_TRUE(port_->memory().dma_enabled());
  EXPECT_FALSE(port_->device().lost()) << "its driver had not come";
}

TEST_F(KeptPort, IsCutOffAfterThreeDeathsInItsTurns) {
  for (int death = 1; death <= 2; ++death) {
    ASSERT_TRUE(kill(true));
    EXPECT_TRUE(is_served()) << death;
    EXPECT_THAT(failures(), testing::IsEmpty());
  }
  ASSERT_TRUE(kill(true));
  EXPECT_THAT(failures(), testing::ElementsAre(testing::HasSubstr("three engines")));
  EXPECT_FALSE(port_->server().attached());
  EXPECT_TRUE(vmm_->is_closed());
  RawVfioClient next(config_.socket, [this] { turn(); });
  EXPECT_TRUE(next.negotiate()) << "the VM that is started again is served";
}

TEST_F(KeptPort, IsCutOffOnce) {
  for (int death = 1; death <= 3; ++death) ASSERT_TRUE(kill(true));
  EXPECT_EQ(failures().size(), 1u);
  turn();
  ASSERT_TRUE(kill(false));
  EXPECT_THAT(failures(), testing::IsEmpty()) << "there was no VMM any more";
}

TEST_F(KeptPort, IsNotBlamedForDeathsBesideItsTurnsOrFromOutside) {
  for (int death = 0; death < 5; ++death) {
    ASSERT_TRUE(kill(false));
    ASSERT_TRUE(kill(true, true));
  }
  EXPECT_TRUE(is_served());
}

TEST_F(KeptPort, IsRefusedWithoutItsLastChange) {
  holder_.exchange().set_needs(1000);
  const Status taken = kill(false);
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, testing::HasSubstr("was not kept"));
}

TEST_F(KeptPort, IsDroppedWhenItLeaves) {
  EXPECT_TRUE(holder_.has_it());
  port_->leave();
  EXPECT_FALSE(holder_.has_it());
  EXPECT_TRUE(vmm_->is_closed());
}

}  // namespace
}  // namespace paravane::worker
