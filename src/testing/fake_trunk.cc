#include "testing/fake_trunk.h"

#include <algorithm>

#include "testing/fake_trunk_end.h"

namespace paravane::fake {

std::array<std::unique_ptr<FakeTrunk>, 2> FakeTrunk::make_pair() {
  const std::array ends{std::make_shared<FakeTrunkEnd>(), std::make_shared<FakeTrunkEnd>()};
  ends[0]->peer = ends[1];
  ends[1]->peer = ends[0];
  return {std::unique_ptr<FakeTrunk>(new FakeTrunk(ends[0])),
          std::unique_ptr<FakeTrunk>(new FakeTrunk(ends[1]))};
}

FakeTrunk::~FakeTrunk() = default;

std::unique_ptr<transport_hca::TrunkPort> FakeTrunk::port() {
  return std::make_unique<FakeTrunkPort>(end_);
}

std::unique_ptr<transport_hca::TrunkStream> FakeTrunk::stream_with_lanes() {
  using transport_hca::RegisteredMemory;
  // For the memory's own acts.
  const auto known = std::make_shared<std::weak_ptr<RegisteredMemory>>();
  auto memory = std::make_shared<RegisteredMemory>(RegisteredMemory::Acts{
      .make =
          [known](RegisteredMemory::Wanted wanted) {
            std::vector<RegisteredMemory::Region> regions;
            for (const GuestMemory::MappedFile& file : wanted.files) {
              regions.push_back(
                  {.bytes = file.bytes, .registration = std::make_unique<FakeRegistration>()});
            }
            known->lock()->take({.wanted = std::move(wanted), .regions = std::move(regions)});
          },
      .end = [](const std::vector<RegisteredMemory::Region>&) {}});
  *known = memory;
  return std::make_unique<transport_hca::TrunkStream>(
      port(),
      [](const std::shared_ptr<transport_hca::TrunkPort>&,
         const std::shared_ptr<RegisteredMemory>&) {},
      memory,
      [](const std::shared_ptr<transport_hca::TrunkPort>& port,
         const transport_hca::LaneNumbers& numbers,
         const std::function<void(bool)>& done) { done(port->connect_lane(numbers)); });
}

std::uint64_t FakeTrunk::lane_bytes() const {
  return end_->lane_bytes;
}

void FakeTrunk::hold_lanes(bool holds) {
  end_->holds_lanes = holds;
  for (std::uint32_t lane = 1; lane <= wire::kLanes; ++lane) end_->deliver_on_lane(lane);
}

void FakeTrunk::close_lanes_in(std::chrono::milliseconds time) {
  end_->closes_in = time;
}

std::size_t FakeTrunk::lane_receives() const {
  std::size_t count = 0;
  for (const FakeTrunkEnd::Lane& lane : end_->lanes) count += lane.receives.size();
  return count;
}

std::size_t FakeTrunk::lane_sends() const {
  std::size_t count = 0;
  for (const FakeTrunkEnd::Lane& lane : end_->lanes) count += lane.sends.size();
  return count;
}

std::uint32_t FakeTrunk::busy_lane() const {
  const auto posted = [](const FakeTrunkEnd::Lane& lane) {
    return lane.receives.size() + lane.sends.size();
  };
  const auto busiest = std::ranges::max_element(end_->lanes, {}, posted);
  return static_cast<std::uint32_t>(busiest - end_->lanes.begin());
}

void FakeTrunk::send_on_lane(std::uint32_t lane, std::vector<std::byte>& bytes,
                             std::uint32_t immediate) {
  FakeTrunkEnd::Lane::Send send{.places = {}, .immediate = immediate};
  if (!bytes.empty()) send.places.push_back({.bytes = bytes, .key = 1});
  end_->lanes.at(lane).sends.push_back(std::move(send));
  end_->deliver_on_lane(lane);
}

std::uint32_t FakeTrunk::join_lane(std::uint32_t lane) {
  const auto peer = end_->peer.lock();
  if (!peer) return 0;
  const transport_hca::LaneNumbers& numbers = peer->lanes.at(lane).numbers;
  end_->lanes.at(lane) = {
      .is_connected = true,
      .numbers = {.lane = lane, .own_psn = numbers.peer_psn, .peer_psn = numbers.own_psn}};
  return numbers.own_psn;
}

void FakeTrunk::drop_sends(std::uint32_t lane) {
  end_->lanes.at(lane).sends.clear();
}

void FakeTrunk::fail_lane(std::uint32_t lane) {
  end_->complete({.kind = TrunkCompletion::Kind::kLaneFailed, .buffer = lane});
}

void FakeTrunk::fail() {
  end_->failed = true;
  end_->complete({.kind = TrunkCompletion::Kind::kFailed});
}

void FakeTrunk::hang() {
  end_->hangs = true;
}

std::uint64_t FakeTrunk::sent() const {
  return end_->sent;
}

std::uint64_t FakeTrunk::sent_empty() const {
  return end_->sent_empty;
}

std::uint64_t FakeTrunk::waited() const {
  return end_->waited;
}

}  // namespace paravane::fake
