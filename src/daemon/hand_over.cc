#include "daemon/hand_over.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "privsep/heir_facts.h"

namespace paravane::daemon {
namespace {

// Of the five seconds that the keeper gives both engines.
constexpr auto kQuietLimit = std::chrono::milliseconds(1500);
constexpr auto kQuietLook = std::chrono::milliseconds(1);
constexpr auto kSendLimit = std::chrono::seconds(4);
constexpr auto kInventoryLimit = std::chrono::milliseconds(200);
constexpr auto kLong = std::chrono::seconds(2);

// Other hosts wait for what an upgrade may take at most, and for the channels that are made
// afterwards. It goes on without those that have not answered.
constexpr auto kPeersWait = std::chrono::seconds(10);
constexpr auto kPeersLimit = std::chrono::milliseconds(300);

// For the other engine, whose steady clock is the same.
std::string as_text(Instant time) {
  return std::to_string(time.time_since_epoch() / std::chrono::nanoseconds(1));
}

}  // namespace

Result<std::string> HandOver::run(const std::string& facts, UniqueFd line) {
  if (const Status left = leave(facts, std::move(line)); !left) {
    parts_.keeper.send({.kind = privsep::Note::Kind::kCannot, .text = left.error().message});
  }
  auto word = await_word();
  if (word) *word += what_took_long(*word);
  parts_.host.thaw();
  parts_.host.hold_peers(Duration::zero());
  parts_.api.door().resume();
  return word;
}

Status HandOver::leave(const std::string& facts, UniqueFd line) {
  const auto heir = privsep::parse_heir_facts(facts);
  if (!heir) return std::unexpected(heir.error());
  if (Status good = host::check_heir(*heir); !good) return good;
  if (Status quiet = quiet_api(); !quiet) return quiet;
  if (!parts_.cluster.save_inventory(kInventoryLimit)) {
    log::warn(
        "the inventory was not saved in time: the new engine may not know GIDs that are new "
        "until it reaches etcd");
  }
  have_peers_wait();
  privsep::EstateLine estate(std::move(line));
  return send_estate(estate);
}

// Clients that come from now on wait in the socket's queue for the engine that answers next.
Status HandOver::quiet_api() {
  parts_.api.door().pause();
  parts_.events.release_readers();
  const auto late = std::chrono::steady_clock::now() + kQuietLimit;
  while (!parts_.api.door().is_idle()) {
    if (std::chrono::steady_clock::now() > late) {
      return fail(Errc::kBadState, "a request of the API is still under way; try again");
    }
    parts_.mailbox.deliver();  // what the requests wait for
    std::this_thread::sleep_for(kQuietLook);
  }
  parts_.mailbox.deliver();
  return {};
}

// Those of an earlier release cannot, and their queue pairs spend retries until the heir is there.
void HandOver::have_peers_wait() {
  using Answer = transport_channel::PeerHold::Answer;
  parts_.host.hold_peers(kPeersWait);
  const auto late = std::chrono::steady_clock::now() + kPeersLimit;
  std::vector<worker::HeldPeer> peers = parts_.host.held_peers();
  const auto is_awaited = [](const worker::HeldPeer& peer) {
    return peer.answer == Answer::kAwaited;
  };
  while (std::ranges::any_of(peers, is_awaited) && std::chrono::steady_clock::now() < late) {
    std::this_thread::sleep_for(kQuietLook);
    peers = parts_.host.held_peers();
  }
  for (const worker::HeldPeer& peer : peers) {
    if (peer.answer == Answer::kAwaited) {
      log::warn("host {} has not said whether its VMs wait for this host; going on", peer.host);
    }
    if (peer.answer == Answer::kRefused) {
      log::warn("host {} has waited for this host as long as it does, and does not now", peer.host);
    }
    if (peer.answer == Answer::kCannot) {
      log::info("host {} is of a release that cannot wait for this host", peer.host);
    }
  }
}

Status HandOver::send_estate(privsep::EstateLine& line) {
  const Instant deadline = std::chrono::steady_clock::now() + kSendLimit;
  // First: VMs do not stand still while its thread finishes what it is at.
  const std::vector<std::byte> subnet = parts_.host.freeze_subnet();
  frozen_at_ = std::chrono::steady_clock::now();
  const std::string frozen_at = as_text(frozen_at_);
  const auto ports = parts_.host.freeze();
  if (!ports) return std::unexpected(ports.error());
  for (const worker::PortParcel& port : *ports) {
    if (port.state.size() <= largest_bytes_) continue;
    largest_ = to_string(port.adapter);
    largest_bytes_ = port.state.size();
  }
  const Status told =
      line.send(host::kFrozenParcel, std::as_bytes(std::span(frozen_at)), {}, deadline);
  if (!told) return told;
  for (const auto& [name, lock] : parts_.host.locks()) {
    if (Status sent = line.send(name, {}, {&lock, 1}, deadline); !sent) return sent;
  }
  const int api = parts_.api.door().listener();
  if (Status sent = line.send(host::kApiParcel, {}, {&api, 1}, deadline); !sent) return sent;
  if (!subnet.empty()) {
    if (Status sent = line.send(host::kSubnetParcel, subnet, {}, deadline); !sent) return sent;
  }
  for (const worker::PortParcel& port : *ports) {
    std::vector<int> descriptors;
    descriptors.reserve(port.descriptors.size());
    for (const UniqueFd& one : port.descriptors) descriptors.push_back(one.get());
    const Status sent =
        line.send(host::adapter_parcel(port.adapter), port.state, descriptors, deadline);
    if (!sent) return sent;
  }
  return line.end(deadline);
}

// The keeper knows no VM. A cause of one of the engines names its own.
std::string HandOver::what_took_long(const std::string& word) const {
  const auto now = std::chrono::steady_clock::now();
  const bool is_out_of_time = word.contains(privsep::kOutOfTime);
  if (!is_out_of_time || largest_.empty() || now - frozen_at_ < kLong) return "";
  return fmt::format("; of all adapters {} has the most to hand over, {:.1f} MiB", largest_,
                     static_cast<double>(largest_bytes_) / (1 << 20));
}

Result<std::string> HandOver::await_word() {
  for (;;) {
    auto received = parts_.keeper.receive_with_socket();
    if (!received) return std::unexpected(received.error());
    if (!*received) {
      pollfd ready{.fd = parts_.keeper.fd(), .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, -1) < 0 && errno != EINTR)
        return fail_by_system(Errc::kIo, "poll", errno);
      continue;
    }
    // Nothing is closed in an orderly way: sockets, guests and other hosts are the heir's.
    if ((*received)->note.kind == privsep::Note::Kind::kLetGo) ::_exit(0);
    if ((*received)->note.kind == privsep::Note::Kind::kResume) {
      return std::move((*received)->note.text);
    }
    notes_.push_back(std::move(**received));
  }
}

}  // namespace paravane::daemon
