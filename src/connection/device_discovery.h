// DeviceDiscovery: finds the SRP targets behind a list of GIDs. It asks each port's device
// management what controllers its unit has, each controller that is there for its profile, and each
// one of SRP for its services (IBTA volume 1, 16.3; SRP r16a, annex B).
//
// A port without device management is common, and no error: the port is not asked further. A search
// has at most kWindow questions open, asks each at most kTries times, and ends after kMostDuration.
// Units are asked in turn, so one with much to say, or a slow one, keeps no other one back.
//
// Answers are a stranger's: one counts only if it has the transaction of an open question, comes
// from the GID that was asked, and is about the same attribute and modifier. What a unit says is
// bounded; texts are cleaned to printable ASCII.
//
// The owner hands in what arrives at queue pair 1 in this class, and calls advance() when
// next_deadline() has come. The thread of its owner only; it has no clock. Throws std::bad_alloc
// where memory lacks.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "connection/datagram_port.h"
#include "connection/discovery_counters.h"
#include "connection/scrambled_numbers.h"
#include "wire/infiniband/datagram.h"
#include "wire/infiniband/device_management.h"
#include "wire/infiniband/mad.h"

namespace paravane::connection {

struct SrpService {
  wire::infiniband::Gid gid{};  // of the port that was asked
  std::uint8_t most_controllers = 0;
  std::uint8_t slot = 0;              // of the controller, from 1 on
  std::uint64_t controller_guid = 0;  // the I/O controller's
  std::string controller{};           // what it says of itself
  std::uint16_t io_class = 0;         // kSrpClass or kSrpRevision10Class
  std::uint64_t service = 0;          // the service ID
  std::uint64_t id_extension = 0;
  std::string name{};                // of the service
  std::uint32_t message_bytes = 0;   // the most in one message to it
  std::uint32_t transfer_bytes = 0;  // the most in one RDMA
  std::uint16_t send_queue_depth = 0;
  std::uint8_t read_depth = 0;
};

enum class UnitState : std::uint8_t {
  kAsked,         // no answer has come yet
  kAnswered,      // it has device management
  kNoManagement,  // it says that it has none
  kSilent,        // no answer came
};

struct UnitResult {
  wire::infiniband::Gid gid{};
  UnitState state = UnitState::kAsked;
  unsigned controllers = 0;  // that are there, of those that are looked at
  unsigned services = 0;     // that were told of
};

class DiscoveryListener {
 public:
  virtual ~DiscoveryListener() = default;
  // Both may start another search.
  virtual void on_service(const SrpService& service) = 0;
  virtual void on_finished() = 0;
};

class DeviceDiscovery {
 public:
  static constexpr std::size_t kMostUnits = 256;
  static constexpr unsigned kMostControllers = 16;  // of a unit
  static constexpr unsigned kMostServices = 64;     // of a unit, to tell of
  static constexpr std::size_t kWindow = 16;
  static constexpr unsigned kTries = 3;
  static constexpr Duration kTimeout = std::chrono::milliseconds(500);  // of each try
  static constexpr Duration kNoRoomPause = std::chrono::milliseconds(20);
  static constexpr Duration kMostDuration = std::chrono::seconds(60);

  using Gid = wire::infiniband::Gid;
  using Mad = std::span<const std::byte, wire::infiniband::kMadBytes>;

  // Both outlive us. `seed` is random.
  DeviceDiscovery(DatagramPort& port, DiscoveryListener& listener, std::uint64_t seed);
  DeviceDiscovery(const DeviceDiscovery&) = delete;
  DeviceDiscovery& operator=(const DeviceDiscovery&) = delete;

  // Replaces the search before, of which nothing more is told. A GID that comes twice is asked
  // once. Fails if there are more than kMostUnits; then the search before goes on.
  Status start(std::span<const Gid> gids, Instant now);
  // Nothing more is told; the results stay as they are.
  void stop();
  bool is_running() const { return is_running_; }
  // In the order of the GIDs.
  const std::vector<UnitResult>& results() const { return units_; }

  // `from`: the GID of the port that sent the datagram.
  void receive(const Gid& from, Mad mad, Instant now);
  Instant next_deadline() const;
  // Sends at most 2 * kWindow questions.
  void advance(Instant now);

  const DiscoveryCounters& counters() const { return counters_; }

 private:
  struct Question {
    std::size_t unit = 0;  // of units_
    std::uint16_t attribute = 0;
    std::uint32_t modifier = 0;
    std::size_t controller = 0;  // of controllers_, if it is about services
    std::uint64_t transaction = 0;
    unsigned tries = 0;
    Instant due{};
  };
  // One of SRP.
  struct Controller {
    std::uint8_t slot = 0;
    wire::infiniband::ControllerProfile profile{};
  };

  void ask(const Question& question);
  void ask_services(std::size_t unit, std::size_t controller, unsigned first);
  void send(Question& question, Instant now);
  // Opens what waits, as far as the window has room.
  void fill(Instant now);
  void give_up(const Question& question);
  void finish();
  // The open question that this answers; open_.end(): none.
  std::vector<Question>::iterator answered(const Gid& from,
                                           const wire::infiniband::DeviceManagementPacket& packet);
  void take(const Question& question, const wire::infiniband::DeviceManagementPacket& packet);
  void take_unit(const Question& question, const wire::infiniband::DeviceManagementPacket& packet);
  void take_profile(const Question& question,
                    const wire::infiniband::DeviceManagementPacket& packet);
  void take_services(const Question& question,
                     const wire::infiniband::DeviceManagementPacket& packet);
  void take_service(const Question& question, const wire::infiniband::ServiceEntry& entry);

  DatagramPort& port_;
  DiscoveryListener& listener_;
  ScrambledNumbers numbers_;
  DiscoveryCounters counters_;
  bool is_running_ = false;
  std::uint64_t search_ = 0;  // which one
  Instant ends_at_ = kNever;
  std::vector<UnitResult> units_;
  std::vector<std::uint8_t> most_controllers_;  // of each unit
  std::vector<Controller> controllers_;
  std::deque<Question> waiting_;
  std::vector<Question> open_;
};

}  // namespace paravane::connection
