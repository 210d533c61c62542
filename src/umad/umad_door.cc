#include "umad/umad_door.h"

#include <algorithm>
#include <utility>

namespace paravane::umad {

UmadDoor::UmadDoor(subnet::Subnet& subnet, EventLoop& loop, TimerQueue& timers,
                   const TurnClock& clock)
    : subnet_(subnet),
      loop_(loop),
      clock_(clock),
      doorway_(loop, timers, "umad door",
               [this](UniqueFd client) { on_client(std::move(client)); }) {}

UmadDoor::~UmadDoor() = default;

Status UmadDoor::open(UniqueFd listener) {
  return doorway_.open(std::move(listener));
}

void UmadDoor::forget(const subnet::HostAdapter& adapter) {
  for (const auto& line : lines_) line->forget(adapter);
}

void UmadDoor::on_client(UniqueFd client) {
  if (lines_.size() >= kMostConnections) {
    ++refused_;
    room_.log.warn(clock_.now, "umad door: a program was refused: {} are connected", lines_.size());
    return;
  }
  std::list<std::unique_ptr<ControlLine>> made(1);
  const auto place = made.begin();
  *place = std::make_unique<ControlLine>(std::move(client), subnet_, room_, loop_, clock_,
                                         [this, place] { lines_.erase(place); });
  if ((*place)->watch()) lines_.splice(lines_.end(), made);
}

}  // namespace paravane::umad
