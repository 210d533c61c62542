// HostTrunk arranges the trunk to one other host, as described in wire/trunk_frames.h. It makes a
// queue pair of the RDMA adapter, connects it, and hands it over. When that trunk is lost,
// HostTrunk makes another one.
//
// The other host may be hostile. It can cause one queue pair to be made at a time, and not often.
//
// One thread, which the calls of the adapter may block.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/instant.h"
#include "transport/hca/registered_memory.h"
#include "transport/hca/trunk_device.h"
#include "wire/trunk_frames.h"

namespace paravane::transport_hca {

// The reason why no trunk to a host exists.
struct NoTrunk {
  wire::TrunkState state = wire::TrunkState::kNoAdapter;
  std::string why{};     // in words that fit after "hca: "
  bool at_peer = false;  // `why` fits after the host's name

  friend bool operator==(const NoTrunk&, const NoTrunk&) = default;
};

struct MadeTrunk {
  std::uint64_t number = 0;  // unique among the trunks to this host
  wire::TrunkNonce own{};    // of both offers
  wire::TrunkNonce peer{};
  std::unique_ptr<FreshTrunkPort> port{};      // connected
  std::shared_ptr<RegisteredMemory> memory{};  // that the adapter can reach
};

class HostTrunk {
 public:
  // The functions that the object calls. Each must act at once.
  struct Acts {
    std::function<void(const wire::TrunkOffer&)> send_offer;
    std::function<void(const wire::TrunkReady&)> send_ready;
    std::function<void(MadeTrunk)> hand_over;
    // No trunk exists, and the reason has changed.
    std::function<void(const NoTrunk&)> tell_none;
  };
  // The peer must answer within this.
  static constexpr Duration kAnswerWithin = std::chrono::seconds(5);
  // An offer that cannot be answered within this time is refused. Otherwise the answer would come
  // after the sender has given up, and would come too late each time if both pauses are equally
  // long.
  static constexpr Duration kAnswerableWithin = kAnswerWithin / 2;
  // The shortest time between two queue pairs. The pause doubles with each failure, up to the
  // longest pause. A trunk that was in use for that long does not count as a failure.
  static constexpr Duration kFirstPause = std::chrono::milliseconds(100);
  static constexpr Duration kLongestPause = std::chrono::seconds(30);

  struct Config {
    bool leads = false;             // this host has dialed the channel
    bool seals_payload = true;      // of trunks; both hosts must have the same
    std::uint64_t last_number = 0;  // new trunks have larger numbers
  };

  HostTrunk(const Config& config, Acts acts)
      : leads_(config.leads),
        seals_payload_(config.seals_payload),
        acts_(std::move(acts)),
        last_number_(config.last_number) {}

  // Sets the adapter to use. Null: no adapter is used, for the reason in `none`.
  void set_device(std::shared_ptr<TrunkDevice> device, const NoTrunk& none, Instant now);
  void on_offer(const wire::TrunkOffer& offer, Instant now);
  void on_ready(const wire::TrunkReady& ready, Instant now);
  // The trunk with that number, which was handed over, has failed.
  void on_lost(std::uint64_t number, const std::string& reason, Instant now);
  // To be called at next_turn().
  void turn(Instant now);
  Instant next_turn() const;

 private:
  struct Own {
    std::uint64_t number = 0;  // of the leading host's offer
    std::uint64_t trunk = 0;   // the number under which the trunk was handed over
    wire::TrunkNonce nonce{};
    wire::TrunkNonce peer_nonce{};           // only on the host that does not lead
    std::unique_ptr<FreshTrunkPort> port{};  // null: it was handed over
    Instant since{};                         // the time from which it waits or is used
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
  const bool seals_payload_;
  Acts acts_;
  std::shared_ptr<TrunkDevice> device_;
  NoTrunk none_{.state = wire::TrunkState::kPreparing,
                .why = "being prepared"};  // why device_ is null
  std::optional<NoTrunk> told_;            // the last reason passed to acts_
  std::optional<NoTrunk> peer_none_;       // why the peer has no adapter to use
  std::optional<wire::TrunkOffer> due_;    // the peer's offer that waits for an answer
  std::optional<Own> own_;
  std::uint64_t offers_ = 0;
  std::uint64_t last_number_;  // of a trunk
  Instant next_make_{};
  Duration pause_ = kFirstPause;
};

}  // namespace paravane::transport_hca
