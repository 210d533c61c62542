#include "transport/hca/trunk_lanes.h"

#include <chrono>
#include <utility>

namespace paravane::transport_hca {

using transport_channel::LaneEvent;

TrunkLanes::TrunkLanes(std::shared_ptr<TrunkPort> port, std::shared_ptr<RegisteredMemory> memory,
                       Connect connect)
    : port_(std::move(port)), memory_(std::move(memory)), connect_(std::move(connect)) {}

void TrunkLanes::note(const TrunkCompletion& completion) {
  LaneEvent event{
      .lane = completion.buffer, .bytes = completion.bytes, .immediate = completion.immediate};
  switch (completion.kind) {
    case TrunkCompletion::Kind::kLaneSent: event.kind = LaneEvent::Kind::kSent; break;
    case TrunkCompletion::Kind::kLaneReceived: event.kind = LaneEvent::Kind::kReceived; break;
    case TrunkCompletion::Kind::kSent:
    case TrunkCompletion::Kind::kReceived:
    case TrunkCompletion::Kind::kLaneFailed:
    case TrunkCompletion::Kind::kFailed: event.kind = LaneEvent::Kind::kFailed; break;
  }
  events_.push_back(event);
}

bool TrunkLanes::post_receive(std::uint32_t lane, verbs::AdapterId adapter, const ExtentList& to) {
  memory_->find(adapter, to, places_);
  return port_->post_lane_receive(lane, places_);
}

bool TrunkLanes::post_send(std::uint32_t lane, verbs::AdapterId adapter, const ExtentList& from,
                           std::uint32_t immediate) {
  memory_->find(adapter, from, places_);
  return port_->post_lane_send(lane, places_, immediate);
}

bool TrunkLanes::post_void(std::uint32_t lane, std::uint32_t immediate) {
  return port_->post_lane_send(lane, {}, immediate);
}

std::optional<LaneEvent> TrunkLanes::next_lane_event() {
  if (events_.empty()) return std::nullopt;
  const LaneEvent event = events_.front();
  events_.pop_front();
  return event;
}

void TrunkLanes::connect(std::uint32_t lane, std::uint32_t own_psn, std::uint32_t peer_psn) {
  const std::uint32_t life = ++lanes_.at(lane).life;
  connect_(port_, {.lane = lane, .own_psn = own_psn, .peer_psn = peer_psn},
           [weak = std::weak_ptr(self_), lane, life](bool is_connected) {
             if (const auto self = weak.lock()) (*self)->on_connected(lane, life, is_connected);
           });
}

// A lane that was closed meanwhile has nothing posted, and is closed when it is connected anew.
void TrunkLanes::on_connected(std::uint32_t lane, std::uint32_t life, bool is_connected) {
  Lane& one = lanes_.at(lane);
  if (one.life != life) return;
  one.is_connected = is_connected;
  events_.push_back({.kind = is_connected ? LaneEvent::Kind::kConnected : LaneEvent::Kind::kFailed,
                     .lane = lane});
}

Duration TrunkLanes::close(std::uint32_t lane) {
  Lane& one = lanes_.at(lane);
  ++one.life;
  const Instant began = std::chrono::steady_clock::now();
  if (std::exchange(one.is_connected, false)) port_->close_lane(lane);
  const Duration took = std::chrono::steady_clock::now() - began;
  std::erase_if(events_, [lane](const LaneEvent& event) { return event.lane == lane; });
  return took;
}

}  // namespace paravane::transport_hca
