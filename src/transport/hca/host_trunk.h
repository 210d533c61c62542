// HostTrunk arranges the trunk to one other host, as wire/trunk_frames.h has it: it makes queue
// pairs of the RDMA adapter, and hands one over that is connected. When that is lost, it begins
// anew.
//
// The other host is hostile: it makes us make one queue pair at a time, and not often.
//
// One thread; calls of the adapter block it.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/instant.h"
#include "transport/hca/trunk_device.h"
#include "wire/trunk_frames.h"

namespace paravane::transport_hca {

// Why there is no trunk to a host.
struct NoTrunk {
  wire::TrunkState state = wire::TrunkState::kNoAdapter;
  std::string why{};     // in words that fit after "hca: "
  bool at_peer = false;  // `why` fits after the host's name

  friend bool operator==(const NoTrunk&, const NoTrunk&) = default;
};

struct MadeTrunk {
  std::uint64_t number = 0;  // to this host never the same
  wire::TrunkNonce own{};    // of both offers
  wire::TrunkNonce peer{};
  std::unique_ptr<FreshTrunkPort> port{};  // connected
};

class HostTrunk {
 public:
  // What is to be done for it, at once.
  struct Acts {
    std::function<void(const wire::TrunkOffer&)> send_offer;
    std::function<void(const wire::TrunkReady&)> send_ready;
    std::function<void(MadeTrunk)> hand_over;
    // There is no trunk any more, or not yet, for another reason than before.
    std::function<void(const NoTrunk&)> tell_none;
  };
  // The peer must answer within this.
  static constexpr Duration kAnswerWithin = std::chrono::seconds(5);
  // An offer that cannot be answered within this is refused, or its sender would have given up when
  // the answer comes, and again each time if both pause for equally long.
  static constexpr Duration kAnswerableWithin = kAnswerWithin / 2;
  // Between two queue pairs that are made; doubled with each that fails. A trunk that was used for
  // the longest pause has not failed.
  static constexpr Duration kFirstPause = std::chrono::milliseconds(100);
  static constexpr Duration kLongestPause = std::chrono::seconds(30);

  // `leads`: of the two hosts this one dials the channel. `last_number`: trunks to this host have
  // larger numbers from now on.
  HostTrunk(bool leads, Acts acts, std::uint64_t last_number = 0)
      : leads_(leads), acts_(std::move(acts)), last_number_(last_number) {}

  // The adapter that is used from now on; null: none, because of `none`.
  void set_device(std::shared_ptr<TrunkDevice> device, const NoTrunk& none, Instant now);
  void on_offer(const wire::TrunkOffer& offer, Instant now);
  void on_ready(const wire::TrunkReady& ready, Instant now);
  // The trunk with that number, which was handed over, is of no use any more.
  void on_lost(std::uint64_t number, const std::string& reason, Instant now);
  // To be called at next_turn().
  void turn(Instant now);
  Instant next_turn() const;

 private:
  struct Own {
    std::uint64_t number = 0;  // of the leading host's offer
    std::uint64_t trunk = 0;   // the number of the trunk, once it was handed over
    wire::TrunkNonce nonce{};
    wire::TrunkNonce peer_nonce{};           // of the host that does not lead only
    std::unique_ptr<FreshTrunkPort> port{};  // null: it was handed over
    Instant since{};                         // it waits, or is used
    bool is_used() const { return !port; }
  };

  void lead(Instant now);
  void follow(Instant now);
  void take_answer(const wire::TrunkOffer& answer, Instant now);
  bool make_own(std::uint64_t number, Instant now);
  bool connect(const wire::TrunkOffer& peer);
  void send_own();
  void hand_over(const wire::TrunkNonce& peer, Instant now);
  void give_up(const NoTrunk& none, Instant now);
  void say(const NoTrunk& none);
  void tell(const NoTrunk& none);

  const bool leads_;
  Acts acts_;
  std::shared_ptr<TrunkDevice> device_;
  NoTrunk none_{.state = wire::TrunkState::kPreparing, .why = "being prepared"};  // or device_
  std::optional<NoTrunk> told_;                                                   // to acts_
  std::optional<NoTrunk> peer_none_;     // why the peer has no adapter to use
  std::optional<wire::TrunkOffer> due_;  // of the peer, to be answered
  std::optional<Own> own_;
  std::uint64_t offers_ = 0;
  std::uint64_t last_number_;  // of a trunk
  Instant next_make_{};
  Duration pause_ = kFirstPause;
};

}  // namespace paravane::transport_hca
