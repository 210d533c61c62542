#include "subnet_host/host_uplink.h"

#include <linux/if_tun.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "ipoib/frame.h"
#include "ipoib/remote_mac.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::subnet_host {
namespace {

void set_carrier(const UniqueFd& tap, bool on) {
  int value = on ? 1 : 0;
  static_cast<void>(::ioctl(tap.get(), TUNSETCARRIER, &value));
}

}  // namespace

HostUplink::HostUplink(std::string name, subnet::HostAdapter& adapter, subnet::PortNumber port,
                       EventLoop& loop, WaitingTaps& waiting, const TurnClock& clock,
                       std::function<void()> on_lost, UplinkTeam* team)
    : name_(std::move(name)),
      loop_(loop),
      waiting_(waiting),
      on_lost_(std::move(on_lost)),
      team_(team),
      uplink_(adapter, port, clock, *this),
      clock_(clock) {}

HostUplink::~HostUplink() {
  while (!taps_.empty()) close(taps_.begin()->first);
}

ipoib::UplinkImage HostUplink::image() const {
  ipoib::UplinkImage image = uplink_.image();
  for (const Counter* counter : counters_.set.all())
    image.counters.emplace_back(counter->name(), counter->value());
  return image;
}

bool HostUplink::adopt(ipoib::UplinkImage image) {
  for (const auto& [name, value] : image.counters) counters_.set.go_on(name, value);
  return uplink_.adopt(std::move(image));
}

Status HostUplink::add(UplinkTap tap) {
  const auto vlan = static_cast<std::uint16_t>(tap.vlan);
  const bool is_of_guests = tap.tagged && vlan == kGuestVlans;
  const std::uint16_t key = is_of_guests ? kGuestVlans : tap.tagged ? kAllVlans : vlan;
  if (!is_of_guests && (tap.tagged || taps_.contains(kAllVlans))) {
    std::vector<std::uint16_t> others;
    for (const auto& [other, open] : taps_) {
      if (other != kGuestVlans) others.push_back(other);
    }
    for (const std::uint16_t other : others) close(other);
  }
  close(key);
  // VLANs of a tap that carries all are added when a frame of theirs comes.
  if (!uplink_.add_vlan(tap.tagged ? 0 : key))
    return fail(Errc::kResourceExhausted, name_ + ": too many VLANs");
  if (is_of_guests) guest_vlans_.insert(0);
  if (tap.tagged) {
    for (const std::uint16_t inherited : uplink_.inherited_vlans()) {
      if (uplink_.add_vlan(inherited) && is_of_guests) guest_vlans_.insert(inherited);
    }
  }
  const int fd = tap.tap.get();
  vds_ = tap.vds;
  // That of the others may be old.
  follow_link();
  set_carrier(tap.tap, has_link_);
  WaitingTaps::Reader& reader = *this;
  taps_.try_emplace(key, std::move(tap), reader, key);
  const Status watched = loop_.watch(fd, EPOLLIN, [this, key](std::uint32_t events) {
    // The interface was deleted.
    if ((events & (EPOLLERR | EPOLLHUP)) != 0) return lose(key);
    wait_again(key);
  });
  if (!watched) taps_.erase(key);
  return watched;
}

void HostUplink::remove(std::uint16_t vlan) {
  close(vlan);
  if (vlan == kGuestVlans) return forget_guests();
  uplink_.remove_vlan(vlan);
  guest_vlans_.erase(vlan);
}

void HostUplink::forget_guests() {
  for (const std::uint16_t vlan : std::exchange(guest_vlans_, {})) {
    if (!taps_.contains(kAllVlans) && !taps_.contains(vlan)) uplink_.remove_vlan(vlan);
  }
}

void HostUplink::close(std::uint16_t key) {
  const auto found = taps_.find(key);
  if (found == taps_.end()) return;
  loop_.unwatch(found->second.tap.tap.get());
  waiting_.leave(found->second.waits);
  taps_.erase(found);
  std::erase_if(places_, [key](const auto& place) { return place.second.key == key; });
}

void HostUplink::on_time(Instant now) {
  follow_link();
  uplink_.on_time(now);
}

void HostUplink::follow_link() {
  const bool has_link = uplink_.adapter().port(uplink_.port())->is_active();
  if (std::exchange(has_link_, has_link) == has_link) return;
  for (const auto& [key, open] : taps_) set_carrier(open.tap.tap, has_link);
}

void HostUplink::lose(std::uint16_t key) {
  close(key);
  on_lost_();
}

// ---- From VMs ----

void HostUplink::wait_again(std::uint16_t key) {
  if (const auto tap = taps_.find(key); tap != taps_.end()) waiting_.join(tap->second.waits);
}

std::size_t HostUplink::read(std::uint16_t key, std::size_t most) {
  for (std::size_t frames = 0; frames < most; ++frames) {
    const auto tap = taps_.find(key);
    if (tap == taps_.end() || !read_frame_of(key, tap->second.tap)) return frames;
  }
  return most;
}

bool HostUplink::read_frame_of(std::uint16_t key, const UplinkTap& tap) {
  const ssize_t got = ::read(tap.tap.get(), read_.data(), read_.size());
  if (got > 0) {
    const auto frame = std::span<const std::byte>(read_).first(static_cast<std::size_t>(got));
    if (tap.tagged) {
      take_tagged(key, frame);
    } else {
      take(key, key, frame);
    }
    return true;
  }
  if (got < 0 && errno != EAGAIN && errno != EINTR) lose(key);
  return false;
}

void HostUplink::take_tagged(std::uint16_t key, std::span<const std::byte> bytes) {
  const auto frame = ipoib::read_frame(bytes);
  if (!frame) return counters_.bad_tags.add();
  // A tag with a priority alone is of untagged frames.
  const std::uint16_t vlan = frame->vlan ? frame->vlan->number : 0;
  const bool is_new = !uplink_.has_vlan(vlan);
  if (!may_use(key, vlan)) return;
  if (is_new && team_ != nullptr) team_->on_new_vlan(*this, vlan);
  if (!frame->vlan) return take(key, 0, bytes);
  ipoib::EthernetFrame untagged = *frame;
  untagged.vlan.reset();
  ipoib::write_frame(untagged, untagged_);
  take(key, vlan, untagged_);
}

bool HostUplink::may_use(std::uint16_t key, std::uint16_t vlan) {
  const bool is_of_guests = key == kGuestVlans && vlan != 0 && !taps_.contains(vlan);
  const subnet::Port& port = *uplink_.adapter().port(uplink_.port());
  const auto partition = static_cast<std::uint16_t>(wire::infiniband::kFullMember | vlan);
  if (is_of_guests && port.partition_for(partition) == 0) {
    counters_.bad_tags.add();
    return false;
  }
  if (!uplink_.add_vlan(vlan)) {
    counters_.no_vlan_room.add();
    return false;
  }
  if (is_of_guests) guest_vlans_.insert(vlan);
  return true;
}

void HostUplink::take(std::uint16_t key, std::uint16_t vlan, std::span<const std::byte> bytes) {
  const UplinkTap* other = key == kGuestVlans ? tap_of(vlan) : guests_tap();
  const auto frame =
      other == nullptr ? std::unexpected(ipoib::FrameRefusal::kShort) : ipoib::read_frame(bytes);
  if (frame && !frame->vlan) {
    remember(key, vlan, frame->source);
    const UplinkTap* place = place_of(vlan, frame->destination);
    if (place == other) return write(*other, vlan, bytes);
    const bool is_group = (frame->destination[0] & 1) != 0;
    const bool is_elsewhere = ipoib::remote_queue_pair(frame->destination).has_value();
    if (is_group || (place == nullptr && !is_elsewhere)) write(*other, vlan, bytes);
  }
  uplink_.on_frame(vlan, bytes);
}

// ---- Places ----

const UplinkTap* HostUplink::tap_of(std::uint16_t vlan) const {
  const auto of_all = taps_.find(kAllVlans);
  const auto tap = of_all != taps_.end() ? of_all : taps_.find(vlan);
  return tap == taps_.end() ? nullptr : &tap->second.tap;
}

const UplinkTap* HostUplink::guests_tap() const {
  const auto tap = taps_.find(kGuestVlans);
  return tap == taps_.end() ? nullptr : &tap->second.tap;
}

const UplinkTap* HostUplink::place_of(std::uint16_t vlan, const ipoib::MacBytes& mac) const {
  const auto place = places_.find({vlan, mac});
  if (place == places_.end() || place->second.until <= clock_.now) return nullptr;
  const auto tap = taps_.find(place->second.key);
  return tap == taps_.end() ? nullptr : &tap->second.tap;
}

void HostUplink::remember(std::uint16_t key, std::uint16_t vlan, const ipoib::MacBytes& mac) {
  const Place place{.key = key, .until = clock_.now + kPlaceLife};
  if (const auto known = places_.find({vlan, mac}); known != places_.end()) {
    known->second = place;
    return;
  }
  // A VM whose place found no room is found behind both taps.
  if (places_.size() >= kMostPlaces) {
    if (clock_.now < may_sweep_) return;  // it looks at each
    may_sweep_ = clock_.now + kBetweenSweeps;
    std::erase_if(places_, [this](const auto& one) { return one.second.until <= clock_.now; });
    if (places_.size() >= kMostPlaces) return;
  }
  places_[{vlan, mac}] = place;
}

void HostUplink::on_new_address(const ipoib::MacBytes& mac, std::uint16_t vlan) {
  if (team_ != nullptr) team_->on_new_address(*this, mac, vlan);
}

// ---- To VMs ----

void HostUplink::deliver(std::uint16_t vlan, std::span<const std::byte> bytes) {
  const UplinkTap* tap = tap_of(vlan);
  const UplinkTap* guests = guests_tap();
  if (tap == nullptr && guests == nullptr) return counters_.taps_refused.add();
  if (tap != nullptr && guests != nullptr) {
    const auto frame = ipoib::read_frame(bytes);
    if (!frame) return counters_.taps_refused.add();
    if (const UplinkTap* place = place_of(vlan, frame->destination))
      return write(*place, vlan, bytes);
  }
  if (tap != nullptr) write(*tap, vlan, bytes);
  if (guests != nullptr) write(*guests, vlan, bytes);
}

void HostUplink::write(const UplinkTap& tap, std::uint16_t vlan, std::span<const std::byte> bytes) {
  if (bytes.size() > tap.mtu + sizeof(wire::roce::EthernetHeader)) {
    above_mtu_until_ = clock_.now + kAboveMtuCounts;
    return counters_.above_switch_mtu.add();
  }
  if (tap.tagged && vlan != 0) {
    const auto read = ipoib::read_frame(bytes);
    if (!read) return counters_.taps_refused.add();
    ipoib::EthernetFrame tagged = *read;
    tagged.vlan = ipoib::Vlan{.number = vlan};
    ipoib::write_frame(tagged, tagged_);
    bytes = tagged_;
  }
  if (::write(tap.tap.get(), bytes.data(), bytes.size()) < 0) counters_.taps_refused.add();
}

}  // namespace paravane::subnet_host
