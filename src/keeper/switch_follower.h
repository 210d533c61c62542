// SwitchFollower keeps the distributed switches on this host as the last plan of the engine (the
// unprivileged process) describes them. When the kernel reports that an interface has changed,
// SwitchFollower soon applies the plan again, which repairs any difference. It also applies the
// plan from time to time without a notification, in case a notification was lost. It reports to the
// engine what has changed since the last report.
//
// The plan is applied at most once a second, however often interfaces change. On a host without
// switches, SwitchFollower subscribes to no notifications and never wakes up.
//
// Thread of the event loop only.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/event_loop.h"
#include "base/instant.h"
#include "ethernet/link_news.h"
#include "keeper/local_switches.h"

namespace paravane::keeper {

class SwitchFollower final : private privsep::SwitchMaker {
 public:
  static constexpr Duration kSettle = std::chrono::milliseconds(200);  // after a notification
  static constexpr Duration kApart = std::chrono::seconds(1);          // between two runs
  static constexpr Duration kSlow = std::chrono::seconds(30);          // without a notification

  // What must not be forgotten when the keeper is replaced.
  struct Saved {
    std::string number{};                       // of the plan
    std::optional<privsep::SwitchPlan> plan{};  // nullopt: there is nothing to follow
    std::vector<model::MendedLink> untold{};
    ethernet::KnownNics known{};
  };

  // `always`: follow also while the plan has no switch, for the sake of an address that this host
  // should have. `tell` sends the text of a report to the engine; false: it could not be sent now.
  // `loop` outlives us.
  SwitchFollower(EventLoop& loop, std::unique_ptr<LocalSwitches> switches, bool always,
                 std::function<bool(std::string)> tell);
  ~SwitchFollower() override;

  // Applies a plan and returns the report, both as texts of messages. The plan is untrusted.
  std::string answer(std::string_view plan, Instant now);

  Saved saved() const;
  // Of the keeper before this one: applies the plan at once. The engine is told of it when it sends
  // its own plan, or something else changes.
  void resume(Saved saved, Instant now);

  // When step() has something to do; kNever: not until a notification arrives.
  Instant next_step() const;
  void step(Instant now);

  std::vector<OpenedRocePort> take_opened_ports() { return switches_->take_opened_ports(); }
  void take_back(const OpenedRocePort& port) { switches_->take_back(port); }
  std::vector<OpenedUplinkTap> take_opened_taps() { return switches_->take_opened_taps(); }
  void take_back(const OpenedUplinkTap& tap) { switches_->take_back(tap); }
  // Another engine has none of the ports and taps: they are opened anew with its first plan.
  void take_back_all() {
    static_cast<void>(switches_->take_opened_ports());
    static_cast<void>(switches_->take_opened_taps());
    switches_->take_back_all();
  }
  std::vector<Ipv4Interface> addresses() const { return switches_->addresses(); }

 private:
  privsep::SwitchReport make(const privsep::SwitchPlan& plan) override;
  void follow(bool wanted);
  void listen();
  void on_news();

  EventLoop& loop_;
  const std::unique_ptr<LocalSwitches> switches_;
  const bool always_;
  const std::function<bool(std::string)> tell_;
  std::string number_;                       // of the last plan that was made
  std::optional<privsep::SwitchPlan> plan_;  // nullopt: there is nothing to follow
  privsep::SwitchReport told_;
  std::vector<model::MendedLink> untold_;  // what was mended since
  std::optional<ethernet::LinkNews> news_;
  bool listening_ = false;
  bool deaf_ = false;             // no notifications are available; logged once
  std::optional<Instant> heard_;  // since the last look
  Instant looked_{};
};

}  // namespace paravane::keeper
