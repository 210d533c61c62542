#include "subnet/local_link.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/memory_shortage.h"

namespace paravane::subnet {

LocalLink::LocalLink(const Place& one, const Place& other, PacketQueue& queue)
    : one_place_(one),
      other_place_(other),
      queue_(queue),
      one_(*this, one_place_, other_place_),
      other_(*this, other_place_, one_place_) {}

LocalLink::~LocalLink() = default;

void LocalLink::End::send(Packet packet) {
  PortTotals& totals = from_.port().totals();
  if (from_.port().is_down() || to_.port().is_down() ||
      !link_.queue_.put(to_.receiver, to_.number, std::move(packet), &from_.port()))
    ++totals.send_discards;
}

void LocalLink::judge() {
  if (!std::exchange(is_due_, false)) return;
  if (runs_in_memory([this] { train(); })) return;
  is_due_ = true;  // one end may be up and the other not
  throw std::bad_alloc();
}

void LocalLink::train() {
  Port& one = one_place_.port();
  Port& other = other_place_.port();
  // One end that went down takes the other with it.
  if (one.is_down() || other.is_down()) {
    one.link_down();
    other.link_down();
  }
  if (!one.is_down() || one.is_disabled() || other.is_disabled()) return;
  if (one.is_asleep() && other.is_asleep()) return;
  const Speed speed = std::min(one.abilities().speed, other.abilities().speed);
  one.link_up(speed);
  other.link_up(speed);
}

}  // namespace paravane::subnet
