#include "subnet_host/host_uplink.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "ipoib/frame.h"

namespace paravane::subnet_host {

HostUplink::HostUplink(std::string name, subnet::HostAdapter& adapter, subnet::PortNumber port,
                       EventLoop& loop, const TurnClock& clock, std::function<void()> on_lost)
    : name_(std::move(name)),
      loop_(loop),
      on_lost_(std::move(on_lost)),
      uplink_(adapter, port, clock, *this) {}

HostUplink::~HostUplink() {
  while (!taps_.empty()) close(taps_.begin()->first);
}

Status HostUplink::add(UplinkTap tap) {
  const std::uint16_t key = tap.tagged ? kAllVlans : static_cast<std::uint16_t>(tap.vlan);
  if (tap.tagged || taps_.contains(kAllVlans)) {
    while (!taps_.empty()) close(taps_.begin()->first);
  }
  close(key);
  // VLANs of a tap that carries all are added when a frame of theirs comes.
  if (!uplink_.add_vlan(tap.tagged ? 0 : key))
    return fail(Errc::kResourceExhausted, name_ + ": too many VLANs");
  const int fd = tap.tap.get();
  taps_.insert_or_assign(key, std::move(tap));
  const Status watched = loop_.watch(fd, EPOLLIN, [this, key](std::uint32_t events) {
    // The interface was deleted.
    if ((events & (EPOLLERR | EPOLLHUP)) != 0) return lose(key);
    on_ready(key);
  });
  if (!watched) taps_.erase(key);
  return watched;
}

void HostUplink::remove(std::uint16_t vlan) {
  close(vlan);
  uplink_.remove_vlan(vlan);
}

void HostUplink::close(std::uint16_t key) {
  const auto found = taps_.find(key);
  if (found == taps_.end()) return;
  loop_.unwatch(found->second.tap.get());
  taps_.erase(found);
}

void HostUplink::lose(std::uint16_t key) {
  close(key);
  on_lost_();
}

// ---- From VMs ----

void HostUplink::on_ready(std::uint16_t key) {
  for (std::size_t i = 0; i < kFramesPerWake; ++i) {
    const auto tap = taps_.find(key);
    if (tap == taps_.end() || !read_frame_of(key, tap->second)) return;
  }
}

bool HostUplink::read_frame_of(std::uint16_t key, const UplinkTap& tap) {
  const ssize_t got = ::read(tap.tap.get(), read_.data(), read_.size());
  if (got > 0) {
    const auto frame = std::span<const std::byte>(read_).first(static_cast<std::size_t>(got));
    if (tap.tagged) {
      take_tagged(frame);
    } else {
      uplink_.on_frame(key, frame);
    }
    return true;
  }
  if (got < 0 && errno != EAGAIN && errno != EINTR) lose(key);
  return false;
}

void HostUplink::take_tagged(std::span<const std::byte> bytes) {
  const auto frame = ipoib::read_frame(bytes);
  if (!frame) return counters_.bad_tags.add();
  // A tag with a priority alone is of untagged frames.
  const std::uint16_t vlan = frame->vlan ? frame->vlan->number : 0;
  if (!uplink_.add_vlan(vlan)) return counters_.bad_tags.add();
  if (!frame->vlan) return uplink_.on_frame(0, bytes);
  ipoib::EthernetFrame untagged = *frame;
  untagged.vlan.reset();
  ipoib::write_frame(untagged, untagged_);
  uplink_.on_frame(vlan, untagged_);
}

// ---- To VMs ----

void HostUplink::deliver(std::uint16_t vlan, std::span<const std::byte> frame) {
  const auto of_all = taps_.find(kAllVlans);
  const auto tap = of_all != taps_.end() ? of_all : taps_.find(vlan);
  if (tap == taps_.end()) return counters_.taps_refused.add();
  if (of_all != taps_.end() && vlan != 0) {
    const auto read = ipoib::read_frame(frame);
    if (!read) return counters_.taps_refused.add();
    ipoib::EthernetFrame tagged = *read;
    tagged.vlan = ipoib::Vlan{.number = vlan};
    ipoib::write_frame(tagged, tagged_);
    frame = tagged_;
  }
  if (::write(tap->second.tap.get(), frame.data(), frame.size()) < 0) counters_.taps_refused.add();
}

}  // namespace paravane::subnet_host
