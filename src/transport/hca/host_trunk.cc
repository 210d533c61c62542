#include "transport/hca/host_trunk.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace paravane::transport_hca {
namespace {

using wire::TrunkState;

constexpr std::uint32_t k24Bits = 0xFFFFFF;
constexpr std::uint32_t kSmallestPathMtu = 256;
constexpr std::uint32_t kLargestPathMtu = 4096;

wire::TrunkOffer offer_of(const TrunkAddress& address, std::uint64_t number,
                          const wire::TrunkNonce& nonce) {
  wire::TrunkOffer offer{};
  offer.is_infiniband.set(address.is_infiniband ? 1 : 0);
  offer.lid.set(address.lid);
  offer.number.set(number);
  offer.qpn.set(address.qpn);
  offer.psn.set(address.psn);
  offer.path_mtu_bytes.set(address.path_mtu_bytes);
  for (std::size_t i = 0; i < address.lane_qpns.size(); ++i) {
    offer.lane_qpns.at(i).set(address.lane_qpns.at(i));
  }
  std::transform(address.gid.begin(), address.gid.end(), offer.gid.begin(),
                 [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  offer.nonce = nonce;
  return offer;
}

// nullopt: no adapter has such an address.
std::optional<TrunkAddress> address_of(const wire::TrunkOffer& offer) {
  TrunkAddress address{.qpn = offer.qpn.get(),
                       .psn = offer.psn.get(),
                       .is_infiniband = offer.is_infiniband.get() != 0,
                       .lid = offer.lid.get(),
                       .path_mtu_bytes = offer.path_mtu_bytes.get()};
  const std::uint32_t mtu = address.path_mtu_bytes;
  const bool is_mtu = mtu >= kSmallestPathMtu && mtu <= kLargestPathMtu && std::has_single_bit(mtu);
  if (address.qpn > k24Bits || address.psn > k24Bits || !is_mtu) return std::nullopt;
  for (std::size_t i = 0; i < address.lane_qpns.size(); ++i) {
    address.lane_qpns.at(i) = offer.lane_qpns.at(i).get();
    if (address.lane_qpns.at(i) > k24Bits) return std::nullopt;
  }
  std::transform(offer.gid.begin(), offer.gid.end(), address.gid.begin(),
                 [](std::uint8_t byte) { return std::byte{byte}; });
  return address;
}

NoTrunk of_peer(TrunkState state, const char* why) {
  return {.state = state, .why = why, .at_peer = true};
}

NoTrunk other_seal() {
  return of_peer(TrunkState::kOtherSeal, "has another [channel] seal");
}

// The meaning of the state that the peer has sent.
NoTrunk none_of_peer(TrunkState state) {
  switch (state) {
    case TrunkState::kOff: return of_peer(TrunkState::kOff, "has it off by policy");
    case TrunkState::kEncrypted: return of_peer(TrunkState::kEncrypted, "has encryption on");
    case TrunkState::kPortDown: return of_peer(TrunkState::kPortDown, "has its port down");
    case TrunkState::kIwarp: return of_peer(TrunkState::kIwarp, "has iWARP");
    case TrunkState::kFailed: return of_peer(TrunkState::kFailed, "cannot use its adapter");
    case TrunkState::kOtherSeal: return other_seal();
    case TrunkState::kPreparing:
    case TrunkState::kWilling:
      return of_peer(TrunkState::kPreparing, "is still preparing its adapter");
    case TrunkState::kOffered:
    case TrunkState::kNoAdapter: break;
  }
  return of_peer(TrunkState::kNoAdapter, "has no usable adapter");
}

}  // namespace

void HostTrunk::set_device(std::shared_ptr<TrunkDevice> device, const NoTrunk& none, Instant now) {
  device_ = std::move(device);
  none_ = none;
  own_.reset();
  due_.reset();
  next_make_ = now;
  pause_ = kFirstPause;
  if (!device_) {
    say(none_);
    return tell(none_);
  }
  if (!leads_) say({.state = TrunkState::kWilling});
  turn(now);
}

void HostTrunk::on_offer(const wire::TrunkOffer& offer, Instant now) {
  const auto state = TrunkState{offer.state.get()};
  if (state == TrunkState::kOffered) {
    peer_none_.reset();
    if (leads_) return take_answer(offer, now);
    if (own_ && own_->is_used()) tell(of_peer(TrunkState::kFailed, "has begun anew"));
    own_.reset();
    due_.reset();
    if (!device_) return say(none_);
    if (next_make_ > now + kAnswerableWithin) return say({.state = TrunkState::kFailed});
    due_ = offer;
    return turn(now);
  }
  due_.reset();
  const NoTrunk none = none_of_peer(state);
  if (leads_ && state == TrunkState::kFailed) {
    give_up(none, now);  // another offer follows after the pause
  } else if (leads_ && state == TrunkState::kWilling) {
    peer_none_.reset();
    own_.reset();
  } else {
    peer_none_ = none;
    own_.reset();
    if (device_) tell(none);
  }
  turn(now);
}

void HostTrunk::on_ready(const wire::TrunkReady& ready, Instant now) {
  if (leads_ || !own_ || own_->is_used() || ready.number.get() != own_->number) return;
  hand_over(own_->peer_nonce, now);
}

void HostTrunk::on_lost(std::uint64_t number, const std::string& reason, Instant now) {
  if (!own_ || !own_->is_used() || own_->trunk != number) return;
  const NoTrunk none{.state = TrunkState::kFailed, .why = reason};
  give_up(none, now);
  if (!leads_) say(none);
}

void HostTrunk::turn(Instant now) {
  if (!device_) return;
  if (own_ && !own_->is_used() && now >= own_->since + kAnswerWithin) {
    give_up(of_peer(TrunkState::kFailed, "does not answer"), now);
  }
  if (leads_) {
    lead(now);
  } else {
    follow(now);
  }
}

Instant HostTrunk::next_turn() const {
  if (!device_) return kNever;
  if (own_) return own_->is_used() ? kNever : own_->since + kAnswerWithin;
  return (leads_ && !peer_none_) || due_ ? next_make_ : kNever;
}

void HostTrunk::lead(Instant now) {
  if (own_ || peer_none_ || now < next_make_ || !make_own(offers_ + 1, now)) return;
  ++offers_;
  send_own();
  tell({.state = TrunkState::kPreparing, .why = "being prepared"});
}

void HostTrunk::follow(Instant now) {
  if (!due_ || now < next_make_) return;
  const wire::TrunkOffer offer = *std::exchange(due_, std::nullopt);
  if (make_own(offer.number.get(), now) && connect(offer)) {
    own_->peer_nonce = offer.nonce;
    return send_own();
  }
  if (own_) give_up(*told_, now);
  say({.state = told_ == other_seal() ? TrunkState::kOtherSeal : TrunkState::kFailed});
}

// A late answer belongs to an offer that was given up, and is ignored.
void HostTrunk::take_answer(const wire::TrunkOffer& answer, Instant now) {
  if (!own_ || own_->is_used() || answer.number.get() != own_->number) return;
  if (!connect(answer)) return give_up(*told_, now);
  acts_.send_ready({.number = Le64(own_->number)});
  hand_over(answer.nonce, now);
}

bool HostTrunk::make_own(std::uint64_t number, Instant now) {
  next_make_ = now + kFirstPause;
  auto port = device_->make_port();
  if (!port) {
    give_up({.state = TrunkState::kFailed, .why = port.error().message}, now);
    return false;
  }
  Own own{.number = number, .port = std::move(*port), .since = now};
  if (::getrandom(own.nonce.data(), own.nonce.size(), 0) !=
      static_cast<ssize_t>(own.nonce.size())) {
    give_up({.state = TrunkState::kFailed, .why = "there are no random numbers"}, now);
    return false;
  }
  own_ = std::move(own);
  return true;
}

// False: the reason was passed to tell().
bool HostTrunk::connect(const wire::TrunkOffer& peer) {
  const auto address = address_of(peer);
  if (!address) {
    tell(of_peer(TrunkState::kFailed, "offers what no adapter has"));
  } else if ((peer.seals_frames_alone.get() == 0) != seals_payload_) {
    tell(other_seal());
  } else if (address->is_infiniband != own_->port->address().is_infiniband) {
    tell(of_peer(TrunkState::kFailed, "has an adapter of another kind"));
  } else if (const Status connected = own_->port->connect(*address); !connected) {
    tell({.state = TrunkState::kFailed, .why = connected.error().message});
  } else {
    return true;
  }
  return false;
}

void HostTrunk::send_own() {
  wire::TrunkOffer offer = offer_of(own_->port->address(), own_->number, own_->nonce);
  offer.seals_frames_alone.set(seals_payload_ ? 0 : 1);
  acts_.send_offer(offer);
}

void HostTrunk::hand_over(const wire::TrunkNonce& peer, Instant now) {
  told_.reset();
  own_->since = now;
  own_->trunk = ++last_number_;
  acts_.hand_over(
      {.number = own_->trunk, .own = own_->nonce, .peer = peer, .port = std::move(own_->port)});
}

// Drops the queue pair. A pause precedes the next one.
void HostTrunk::give_up(const NoTrunk& none, Instant now) {
  if (own_ && own_->is_used() && now - own_->since >= kLongestPause) pause_ = kFirstPause;
  own_.reset();
  next_make_ = now + pause_;
  pause_ = std::min<Duration>(2 * pause_, kLongestPause);
  tell(none);
}

void HostTrunk::say(const NoTrunk& none) {
  wire::TrunkOffer offer{};
  offer.state.set(std::to_underlying(none.state));
  acts_.send_offer(offer);
}

void HostTrunk::tell(const NoTrunk& none) {
  if (told_ == none) return;
  told_ = none;
  acts_.tell_none(none);
}

}  // namespace paravane::transport_hca
