// SwitchTeller writes reports about the distributed switches on this host to the log and to the
// event log. A report states which interfaces were repaired, which cannot be created, and which can
// be created again. SwitchTeller also counts repairs, and reports an interface that another program
// keeps changing. Of a team of uplinks it tells which one has taken over.
//
// The reports are rate-limited, because other programs can cause them. Control thread only.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/log_limit.h"
#include "model/distributed_switch.h"
#include "model/event.h"
#include "privsep/switch_plan.h"

namespace paravane::host {

class SwitchTeller {
 public:
  // If an interface was repaired this often within kQuarrelTime, another program keeps changing
  // it.
  static constexpr std::size_t kQuarrel = 5;
  static constexpr Duration kQuarrelTime = std::chrono::seconds(60);
  // Lines and events of each kind for a switch, within kQuarrelTime.
  static constexpr unsigned kMostTold = 10;

  // `tell` may be empty: no events.
  explicit SwitchTeller(std::function<void(model::Event)> tell) : tell_(std::move(tell)) {}

  void on_mended(const std::vector<model::MendedLink>& mended, Instant now);
  // `now_so` is the state of the switches now, `before` their state at the last report.
  void on_report(const privsep::SwitchReport& now_so, const privsep::SwitchReport& before,
                 Instant now);

  // Describes each interface of a switch that currently needs repair again and again.
  std::vector<std::string> quarrels(const std::string& vds, Instant now) const;
  // Interfaces mended since the start, by switch; "": of none.
  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  // Times another uplink of a team took over since the start, by switch.
  const std::map<std::string, std::uint64_t>& failovers() const { return failovers_; }

 private:
  struct Mends {
    std::string vds;
    std::deque<Instant> times;  // the last kQuarrel
  };
  void remember(const model::MendedLink& mended, Instant now);
  void say(LogLimit& limit, model::Event event, Instant now);

  std::function<void(model::Event)> tell_;
  std::map<std::string, Mends> mends_;           // by interface
  std::map<std::string, std::uint64_t> counts_;  // of switches, which are few
  std::map<std::string, std::uint64_t> failovers_;
  std::map<std::string, LogLimit> mended_limits_;
  std::map<std::string, LogLimit> problem_limits_;
  std::map<std::string, LogLimit> failover_limits_;
};

}  // namespace paravane::host
