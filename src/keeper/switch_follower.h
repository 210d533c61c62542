// SwitchFollower: keeps the distributed switches on this host as the last plan describes them. It
// receives kernel notifications about interfaces and, soon after, applies the plan again, which
// repairs any difference; it also does so from time to time without a notification, in case one
// was lost. Changes since the last report are reported.
//
// However often an interface changes, the plan is applied at most once a second. A host without
// switches receives no notifications and is never woken.
//
// One thread, that of the loop.

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
  static constexpr Duration kSettle = std::chrono::milliseconds(200);  // from news to the look
  static constexpr Duration kApart = std::chrono::seconds(1);          // looks
  static constexpr Duration kSlow = std::chrono::seconds(30);          // without any news

  // `always`: also while the plan has no switch, for an address that this host should have.
  // `tell`: the text of a note; false: it could not be said now. `loop` outlives us.
  SwitchFollower(EventLoop& loop, std::unique_ptr<LocalSwitches> switches, bool always,
                 std::function<bool(std::string)> tell);
  ~SwitchFollower() override;

  // The answer to a plan, both as texts of notes. The plan is a stranger's.
  std::string answer(std::string_view plan, Instant now);

  // When step() has something to do; kNever: not before there is news.
  Instant next_step() const;
  void step(Instant now);

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
  bool deaf_ = false;             // there are no news to be had, which is said once
  std::optional<Instant> heard_;  // since the last look
  Instant looked_{};
};

}  // namespace paravane::keeper
