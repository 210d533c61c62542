// An adapter with a RoCE port, which another engine takes over. Its peer is played.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "guestmem/memory_failure.h"
#include "testing/edited_state.h"
#include "testing/fake_guest_end.h"
#include "testing/fake_guest_machine.h"
#include "testing/raw_vfio_client.h"
#include "testing/roce_frames.h"
#include "testing/vfio_server_rig.h"
#include "worker/vm_port.h"

namespace paravane::worker {
namespace {

constexpr verbs::AdapterId kSavedId{7};
constexpr wire::roce::MacBytes kSavedMac{0x00, 0x50, 0x56, 0x01, 0x02, 0x01};
constexpr wire::roce::MacBytes kNativeMac{0x52, 0x54, 0, 0, 0, 9};
constexpr std::uint32_t kNativeQpn = 77;

class NoOthers final : public transport_channel::LocalOwners {
 public:
  std::optional<verbs::AdapterId> find_local(verbs::SegmentId, const verbs::Gid&,
                                             verbs::GidType) const override {
    return std::nullopt;
  }
};

class EndedAtOnce final : public MappingSink {
 public:
  void take(EndedMapping) override {}
};

// All that the port of an adapter needs of its engine.
class OneEngine {
 public:
  explicit OneEngine(const TurnClock& clock) : clock_(clock) {}

  PortNetwork network() {
    return {.local = local_,
            .roce = roce_,
            .tcp = tcp_,
            .hca = hca_,
            .directory = gids_,
            .event_signal = event_signal_,
            .mappings = mappings_,
            .clock = clock_,
            .speech = speech_};
  }
  void turn(VmPort& port) {
    for (int i = 0; i < 3; ++i) {
      verbs::Budget budget{.bytes = 1 << 20, .operations = 256};
      port.turn(clock_.now, budget);
      budget = {.bytes = 1 << 20, .operations = 256};
      roce_.poll(clock_.now, budget);
    }
  }

 private:
  const TurnClock& clock_;
  std::unique_ptr<EventLoop> loop_ = *EventLoop::create();
  EventSignal event_signal_;
  transport_local::LocalTransport local_;
  transport_roce::RoceTransport roce_{clock_, 0};
  fabric::Directory gids_{local_};
  NoOthers owners_;
  transport_channel::ChannelTransport tcp_{{.incarnation = 1}, *loop_, owners_, {}};
  transport_channel::ChannelTransport hca_{{.incarnation = 1, .name = "hca"}, *loop_, owners_, {}};
  EndedAtOnce mappings_;
  PortWatch::Speech speech_{
      .tell = [](const model::Event&) {},
      .name = [](const verbs::PathUse::Way&) { return PortWatch::WayName{}; }};
};

class VmPortState : public testing::Test {
 protected:
  VmPortState() {
    config_.adapter.vm = "vm1";
    config_.device.name = "vm1";
    config_.device.mac = kSavedMac;
    config_.socket = directory_.path() / "vm1.sock";
    auto made = VmPort::create(config_, kSavedId, before_.network());
    EXPECT_TRUE(made);
    port_ = std::move(*made);
    vmm_.emplace(config_.socket, [this] { turn(); });
    EXPECT_TRUE(vmm_->connected());
    vmm_->negotiate();
    machine_.emplace(port_->memory(), port_->interrupts(), std::uint64_t{64} << 20,
                     [this] { turn(); });
    port_->device().set_answer([this](vfio_user::ReplyToken token) { machine_->on_answer(token); });
    machine_->plug(port_->device());
    guest_.emplace(*machine_, fake::GuestOptions{});
    EXPECT_TRUE(guest_->boot(kSavedMac, 1));
    vmm_->set_bus_master(true);  // as the VMM believes
    end_.emplace(*guest_);
  }

  void turn() {
    clock_.now += std::chrono::microseconds(100);
    if (heir_) return after_.turn(*heir_);
    port_->on_readable();
    before_.turn(*port_);
  }
  // Its other end is the network.
  std::unique_ptr<transport_roce::TapDoor> make_door(std::uint32_t mtu) {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    network_.reset(ends[1]);
    return std::make_unique<transport_roce::TapDoor>(UniqueFd(ends[0]), false, mtu);
  }
  void connect() {
    ASSERT_TRUE(guest_->connect(
        end_->qp(), fake::gid_of_mac(kNativeMac), kNativeQpn,
        {.path_mtu = 1, .psn = 100, .timeout = 8, .retry_count = 1, .dmac = kNativeMac}));
  }
  // The numbers of the packets that have left.
  std::vector<std::uint32_t> sent_psns() {
    std::vector<std::uint32_t> psns;
    std::array<std::byte, 9000> bytes{};
    for (;;) {
      const ssize_t got = ::read(network_.get(), bytes.data(), bytes.size());
      if (got <= 0) return psns;
      const std::span<const std::byte> whole(bytes.data(), static_cast<std::size_t>(got));
      const auto frame = wire::roce::parse_frame(whole);
      EXPECT_TRUE(frame);
      if (frame) psns.push_back(frame->packet.psn);
    }
  }
  void acknowledge(std::uint32_t psn) {
    wire::roce::Packet packet;
    packet.route = {.network = wire::roce::Network::kV2Ipv6,
                    .source_mac = kNativeMac,
                    .destination_mac = kSavedMac,
                    .source = fake::gid_of_mac(kNativeMac),
                    .destination = fake::gid_of_mac(kSavedMac),
                    .hop_limit = 64,
                    .udp_source_port = 50'000};
    packet.opcode = wire::roce::Opcode::kAcknowledge;
    packet.destination_qp = end_->qp().number;
    packet.psn = psn;
    packet.syndrome = wire::roce::kAcknowledged;
    const fake::FrameBytes frame = fake::frame_of(packet, {});
    EXPECT_EQ(::write(network_.get(), frame.data(), frame.size()),
              static_cast<ssize_t>(frame.size()));
  }
  // By another engine. Returns the state.
  std::vector<std::byte> hand_over() {
    auto parcel = port_->save();
    EXPECT_TRUE(parcel);
    const std::vector<std::byte> state = parcel->state;
    auto adopted = VmPort::adopt(config_, kSavedId, after_.network(), std::move(*parcel));
    EXPECT_TRUE(adopted) << adopted.error().message;
    port_->abandon();
    if (adopted) heir_ = std::move(*adopted);
    return state;
  }
  void TearDown() override {
    end_.reset();
    guest_.reset();
    machine_.reset();
  }

  TempDir directory_;
  TurnClock clock_{Instant{} + std::chrono::hours(1)};
  VmPortConfig config_;
  OneEngine before_{clock_};
  OneEngine after_{clock_};
  UniqueFd network_;
  std::unique_ptr<VmPort> port_;
  std::unique_ptr<VmPort> heir_;
  std::optional<RawVfioClient> vmm_;
  std::optional<fake::GuestMachine> machine_;
  std::optional<fake::FakeGuest> guest_;
  std::optional<fake::FakeEnd> end_;
};

TEST_F(VmPortState, AConnectionWithANativeEndpointGoesOn) {
  port_->set_door(make_door(1500));
  connect();
  ASSERT_TRUE(end_->send(1, 0, 600));
  turn();
  EXPECT_EQ(sent_psns(), std::vector<std::uint32_t>({100, 101, 102}));
  const std::vector<std::byte> state = hand_over();
  const auto again = heir_->save();
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->state == state);
  // The keeper opens the port a moment later, which costs no retry.
  for (int i = 0; i < 1000; ++i) turn();
  EXPECT_EQ(heir_->roce_counters(), nullptr);
  heir_->set_door(make_door(1500));
  turn();
  EXPECT_EQ(sent_psns(), std::vector<std::uint32_t>({100, 101, 102}));
  acknowledge(102);
  turn();
  pvrdma_cqe completion{};
  ASSERT_TRUE(end_->cq().take(completion));
  EXPECT_EQ(completion.wr_id, 1u);
  EXPECT_EQ(completion.status, 0u);
}

// The VMM stays with the engine that it has.
TEST_F(VmPortState, AStateWithAForgedConnectionIsRefused) {
  port_->set_door(make_door(1500));
  connect();
  ASSERT_TRUE(end_->send(1, 0, 600));
  turn();
  auto parcel = port_->save();
  ASSERT_TRUE(parcel);
  constexpr std::array<std::uint16_t, 4> kNumber{7, 2, 2, 1};
  parcel->state = edited(parcel->state, kNumber, to_number(12'345));
  const auto adopted = VmPort::adopt(config_, kSavedId, after_.network(), std::move(*parcel));
  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error().message,
            "the state is refused: 7.2.2: no queue pair can have such a flow");
  acknowledge(102);
  turn();
  pvrdma_cqe completion{};
  ASSERT_TRUE(end_->cq().take(completion));
  EXPECT_EQ(completion.status, 0u);
  EXPECT_TRUE(port_->server().attached());
}

// Before there is a device.
TEST_F(VmPortState, AStateWithoutItsMemoryIsRefused) {
  auto parcel = port_->save();
  ASSERT_TRUE(parcel);
  parcel->descriptors.clear();
  const auto adopted = VmPort::adopt(config_, kSavedId, after_.network(), std::move(*parcel));
  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error().message,
            "the state is refused: 2: a descriptor is missing, or named twice");
  turn();
  EXPECT_TRUE(port_->server().attached());
}

// It must not keep all VMs of its host from another engine. What it has cut off ends it alone.
TEST_F(VmPortState, AVmmThatCutsItsMemoryFileShortIsTakenOverToo) {
  ASSERT_TRUE(install_memory_failure_handler());
  const UniqueFd ram = machine_->ram().duplicate_fd();
  const std::uint64_t rest = machine_->ram().size() / 2;
  ASSERT_EQ(::ftruncate(ram.get(), static_cast<off_t>(rest)), 0);
  hand_over();
  ASSERT_TRUE(heir_);
  for (int i = 0; i < 10; ++i) turn();
  EXPECT_TRUE(heir_->server().attached());
  EXPECT_TRUE(heir_->memory().read<std::uint64_t>(GuestAddr{fake::GuestRam::kBase}));
  EXPECT_FALSE(heir_->memory().read<std::uint64_t>(GuestAddr{fake::GuestRam::kBase + rest}));
  for (int i = 0; i < 10; ++i) turn();
  EXPECT_FALSE(heir_->server().attached());
  RawVfioClient next(config_.socket, [this] {
    heir_->on_readable();
    turn();
  });
  EXPECT_TRUE(next.negotiate()) << "the VM that is started again is served";
}

// 12 bytes of state for 16 of the quota.
TEST(StateBytes, FollowWhatTheGuestMayHave) {
  VmPortConfig config;
  constexpr std::uint64_t kMiB = 1 << 20;
  config.memory.bytes = 64 * 1024 * kMiB;
  config.device.limits = {.queue_pairs = 2, .completion_queues = 2, .memory_regions = 1};
  EXPECT_EQ(most_state_bytes(config), (256 + 512 / 16 * 12) * kMiB);
  config.memory.page_list_bytes = 16 * kMiB;
  EXPECT_EQ(most_state_bytes(config), (256 + 12) * kMiB);
  constexpr std::uint32_t kRegions = std::uint32_t{1} << 22;
  config.device.held = config.device.limits;
  config.device.held->memory_regions = kRegions;
  EXPECT_GT(most_state_bytes(config), 128 * std::uint64_t{kRegions});
}

TEST_F(VmPortState, AnAdapterWithoutARocePortHasNothingOfIt) {
  const std::vector<std::byte> before = port_->save()->state;
  port_->set_door(make_door(1500));
  const std::vector<std::byte> with_port = port_->save()->state;
  ASSERT_GT(with_port.size(), before.size());
  EXPECT_TRUE(std::equal(before.begin(), before.end(), with_port.begin()));
}

}  // namespace
}  // namespace paravane::worker
