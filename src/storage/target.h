// Target is an SRP target as a vmhba knows it: it logs in, has its logical units found, and logs in
// again kLoginPause after a login ended or was refused, or when it is heard of before, for ever.
//
// Owner thread only. The owner calls pump() after `wake`, and hands in what the connection manager
// says of login()'s connection.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/storage.h"
#include "storage/target_address.h"
#include "storage/target_login.h"
#include "storage/unit_facts.h"
#include "storage/unit_scan.h"

namespace paravane::storage {

class Target {
 public:
  static constexpr Duration kLoginPause = std::chrono::seconds(10);
  // Where a target listens by RDMA's connection manager, if it does not by InfiniBand's: LIO does
  // so over RoCE, at a port that its operator chooses and that device management does not tell.
  // There is no registered one; this is the one of blktests and of LIO's examples.
  static constexpr std::uint16_t kUsualPort = 5555;
  // Until a scan is tried again that found no memory, or no answer.
  static constexpr Duration kScanPause = std::chrono::seconds(2);
  // Between two scans, whatever the second is for.
  static constexpr Duration kScanRest = std::chrono::seconds(1);
  static constexpr std::size_t kMostMessages = 16;  // of a turn: a vmhba has 64 targets

  struct Facts {
    std::uint32_t number = 0;  // T in vmhba32:C0:T0:L0
    TargetAddress address{};
    std::string description{};
    bool is_named = false;
  };
  struct Listener {
    // All that a scan has found; what is not among them is gone.
    std::function<void(Target&, const std::vector<UnitFacts>&)> units_found;
    // The login has ended: no unit is reached.
    std::function<void(Target&, const std::string& why)> units_lost;
  };
  // `login`: but for its callbacks. All outlive it.
  Target(Facts facts, TargetLogin::Surroundings login, std::function<std::uint32_t()> psn,
         Listener listener);
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  const Facts& facts() const { return facts_; }
  // A scan has found more of it.
  void describe(const std::string& description) { facts_.description = description; }
  void set_named(bool is_named) { facts_.is_named = is_named; }

  void pump(Instant now);
  // Whether the vmhba's port is up. While it is down, there is no login, and none is tried.
  void set_link(bool is_up, Instant now);
  // Finds its units anew, or logs in at once if it is not logged in: an operator wants it.
  void rescan(Instant now);
  // It has said that it is there: a login that waits for its next try is tried at once, if there
  // has been one. A target that has refused all is not asked more often.
  void hear(Instant now);
  // Finds its units anew, but not all the time, whatever it answers.
  void look_again();
  bool is_looking() const { return scan_ != nullptr || wants_scan_; }

  // nullptr: there is none.
  TargetLogin* login() { return login_.get(); }

  model::TargetState state() const;
  // Why it is not logged in, or what is wrong with its units; empty: all is well.
  const std::string& problem() const { return problem_; }
  std::uint32_t units() const { return units_; }

 private:
  void begin_login(Instant now);
  void end_login(Instant now);
  void begin_scan(Instant now);
  void take_outcome(Instant now);
  void wake_at(Instant due);

  Facts facts_;
  TargetLogin::Surroundings surroundings_;
  const std::function<std::uint32_t()> psn_;
  const Listener listener_;
  std::unique_ptr<TargetLogin> login_;
  std::unique_ptr<UnitScan> scan_;  // of the login
  std::optional<UnitScan::Outcome> outcome_;
  bool has_link_ = true;
  bool uses_port_ = false;  // kUsualPort, and not the service that was found
  bool wants_scan_ = false;
  bool was_up_ = false;
  bool is_refused_ = false;
  Instant login_at_ = Instant::min();
  Instant scan_at_ = Instant::min();
  Instant rested_at_ = Instant::min();
  std::string problem_ = "the login has not begun";
  std::uint32_t units_ = 0;
  TimerId timer_ = TimerId::kNone;
};

}  // namespace paravane::storage
