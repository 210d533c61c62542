#include "host/switch_teller.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "model/adapter_name.h"

namespace paravane::host {
namespace {

using model::Event;
using model::Severity;

constexpr std::size_t kNamedAtOnce = 3;  // interfaces, in a sentence

// Something that cannot be made: whose it is, and why.
struct Problem {
  std::map<std::string, std::string> fields;
  std::string text;  // "switch lan: nic: no such NIC"

  auto operator<=>(const Problem&) const = default;
  std::string vds() const {
    const auto found = fields.find("switch");
    return found == fields.end() ? std::string() : found->second;
  }
};

std::set<Problem> problems_of(const privsep::SwitchReport& report) {
  std::set<Problem> problems;
  if (!report.problem.empty()) {
    problems.insert({.fields = {{"problem", report.problem}},
                     .text = "switches of this host: " + report.problem});
  }
  for (const privsep::SwitchReport::Switch& vds : report.switches) {
    for (const std::string& problem : vds.problems) {
      problems.insert({.fields = {{"switch", vds.name}, {"problem", problem}},
                       .text = fmt::format("switch {}: {}", vds.name, problem)});
    }
  }
  for (const privsep::SwitchReport::Vmknic& one : report.vmknics) {
    problems.insert({.fields = {{"vmknic", one.name}, {"problem", one.problem}},
                     .text = fmt::format("{}: {}", one.name, one.problem)});
  }
  for (const privsep::SwitchReport::Tap& tap : report.taps) {
    const model::AdapterName adapter{tap.vm, tap.adapter};
    problems.insert({.fields = {{"vm", tap.vm},
                                {"adapter", std::to_string(tap.adapter)},
                                {"problem", tap.problem}},
                     .text = fmt::format("{}: {}", to_string(adapter), tap.problem)});
  }
  return problems;
}

// Of one switch, which are all wrong at once when its bridge is.
Event mended_event(const std::string& vds, const std::vector<model::MendedLink>& mended) {
  std::string names;
  std::string text = vds.empty() ? "interfaces without a switch" : "switch " + vds;
  for (std::size_t i = 0; i < mended.size() && i < kNamedAtOnce; ++i) {
    names += (i == 0 ? "" : ",") + mended[i].interface;
    text += fmt::format("{} {}: {}", i == 0 ? ":" : ";", mended[i].interface, mended[i].text);
  }
  if (mended.size() > kNamedAtOnce) {
    text += fmt::format("; and {} more", mended.size() - kNamedAtOnce);
  }
  return {.type = "switch.mended",
          .severity = Severity::kWarning,
          .fields = {{"switch", vds},
                     {"interfaces", std::move(names)},
                     {"count", std::to_string(mended.size())}},
          .text = std::move(text)};
}

// Events of teams whose frames another uplink carries now.
std::vector<Event> failovers_of(const privsep::SwitchReport& now_so,
                                const privsep::SwitchReport& before) {
  std::vector<Event> events;
  for (const privsep::SwitchReport::Switch& vds : now_so.switches) {
    const auto old =
        std::ranges::find(before.switches, vds.name, &privsep::SwitchReport::Switch::name);
    if (old == before.switches.end() || old->active.empty() || vds.active.empty()) continue;
    if (old->active == vds.active) continue;
    events.push_back({.type = "switch.failover",
                      .severity = Severity::kWarning,
                      .fields = {{"switch", vds.name}, {"from", old->active}, {"to", vds.active}},
                      .text = fmt::format("switch {}: uplink {} carries the frames instead of {}",
                                          vds.name, vds.active, old->active)});
  }
  return events;
}

std::string quarrel(const std::string& interface) {
  return fmt::format(
      "{}: repaired {} times within a minute, because another program on this host keeps changing "
      "it. Exclude it from systemd-networkd or NetworkManager: "
      "/usr/share/doc/paravane/docs/switch.md, \"Other programs\"",
      interface, SwitchTeller::kQuarrel);
}

LogLimit& limit_of(std::map<std::string, LogLimit>& limits, const std::string& vds) {
  if (limits.size() > 2 * model::kMaxSwitches) limits.clear();  // of those that are gone too
  return limits.try_emplace(vds, SwitchTeller::kQuarrelTime, SwitchTeller::kMostTold).first->second;
}

}  // namespace

void SwitchTeller::on_mended(const std::vector<model::MendedLink>& mended, Instant now) {
  std::map<std::string, std::vector<model::MendedLink>> by_switch;
  for (const model::MendedLink& one : mended) by_switch[one.vds].push_back(one);
  for (const auto& [vds, links] : by_switch) {
    counts_[vds] += links.size();
    say(limit_of(mended_limits_, vds), mended_event(vds, links), now);
  }
  std::erase_if(
      mends_, [now](const auto& entry) { return now - entry.second.times.back() >= kQuarrelTime; });
  for (const model::MendedLink& one : mended) remember(one, now);
}

void SwitchTeller::remember(const model::MendedLink& mended, Instant now) {
  const bool known = !quarrels(mended.vds, now).empty();
  Mends& mends = mends_[mended.interface];
  mends.vds = mended.vds;
  // Two things that were wrong with it at once are one time.
  if (!mends.times.empty() && mends.times.back() == now) return;
  mends.times.push_back(now);
  if (mends.times.size() > kQuarrel) mends.times.pop_front();
  if (known || quarrels(mended.vds, now).empty()) return;
  const std::string text = quarrel(mended.interface);
  say(limit_of(problem_limits_, mended.vds),
      {.type = "switch.problem",
       .severity = Severity::kWarning,
       .fields = {{"switch", mended.vds}, {"problem", text}},
       .text = fmt::format("switch {}: {}", mended.vds, text)},
      now);
}

std::vector<std::string> SwitchTeller::quarrels(const std::string& vds, Instant now) const {
  std::vector<std::string> texts;
  for (const auto& [interface, mends] : mends_) {
    const bool often = mends.times.size() == kQuarrel && now - mends.times.front() < kQuarrelTime;
    if (often && mends.vds == vds) texts.push_back(quarrel(interface));
  }
  return texts;
}

void SwitchTeller::on_report(const privsep::SwitchReport& now_so,
                             const privsep::SwitchReport& before, Instant now) {
  for (Event& event : failovers_of(now_so, before)) {
    const std::string& vds = event.fields.at("switch");
    ++failovers_[vds];
    LogLimit& limit = limit_of(failover_limits_, vds);
    say(limit, std::move(event), now);
  }
  const std::set<Problem> old_ones = problems_of(before);
  const std::set<Problem> new_ones = problems_of(now_so);
  for (const Problem& problem : new_ones) {
    if (old_ones.contains(problem)) continue;
    say(limit_of(problem_limits_, problem.vds()),
        {.type = "switch.problem",
         .severity = Severity::kWarning,
         .fields = problem.fields,
         .text = problem.text},
        now);
  }
  for (const Problem& problem : old_ones) {
    if (new_ones.contains(problem)) continue;
    say(limit_of(problem_limits_, problem.vds()),
        {.type = "switch.problem_over", .fields = problem.fields, .text = "over: " + problem.text},
        now);
  }
}

void SwitchTeller::say(LogLimit& limit, model::Event event, Instant now) {
  const auto kept_back = limit.allow(now);
  if (!kept_back) return;
  if (*kept_back > 0) event.fields["kept_back"] = std::to_string(*kept_back);
  if (event.severity == Severity::kInfo) {
    log::info("{}{}", event.text, kept_back_note(*kept_back));
  } else {
    log::warn("{}{}", event.text, kept_back_note(*kept_back));
  }
  if (tell_) tell_(std::move(event));
}

}  // namespace paravane::host
