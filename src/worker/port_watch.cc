#include "worker/port_watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "model/vm.h"

namespace paravane::worker {
namespace {

constexpr Duration kWindow = std::chrono::seconds(10);
constexpr unsigned kStatesPerWindow = 20;
constexpr unsigned kPathsPerWindow = 10;

std::string text_of(const PathName& name) {
  return name.host.empty() ? name.path : fmt::format("{} to host {}", name.path, name.host);
}

}  // namespace

PortWatch::PortWatch(model::AdapterName adapter, Speech speech)
    : adapter_(std::move(adapter)),
      name_(to_string(adapter_)),
      speech_(std::move(speech)),
      states_(kWindow, kStatesPerWindow),
      path_changes_(kWindow, kPathsPerWindow),
      errors_(kWindow, 1),
      refusals_(kWindow, 1) {}

void PortWatch::look(const Sight& sight, const verbs::PathUse& paths, Instant now) {
  bool all = look_at_vmm(sight, now);
  all = look_at_port(sight, now) && all;
  all = look_at_life(sight, now) && all;
  all = look_at_counts(sight, now) && all;
  all = look_at_paths(paths, now) && all;
  all = look_at_probes(sight, now) && all;
  if (all) {
    retry_ = kNever;
  } else if (retry_ == kNever || retry_ <= now) {
    retry_ = now + kWindow;
  }
}

bool PortWatch::say(LogLimit& limit, model::Event event, Instant now) {
  const auto kept_back = limit.allow(now);
  if (!kept_back) {
    counters_.kept_back.add();
    return false;
  }
  if (*kept_back > 0) event.fields["kept_back"] = std::to_string(*kept_back);
  event.fields["vm"] = adapter_.vm;
  event.fields["adapter"] = std::to_string(adapter_.number);
  speech_.tell(std::move(event));
  return true;
}

bool PortWatch::look_at_vmm(const Sight& sight, Instant now) {
  const bool other = sight.attached && told_.attached && sight.pid != told_.pid;
  if (told_.attached && (!sight.attached || other)) {
    if (!say(states_,
             {.type = "vm.detached",
              .severity = model::Severity::kInfo,
              .fields = {{"pid", std::to_string(told_.pid)}},
              .text = fmt::format("the VMM of {} (pid {}) has detached", name_, told_.pid)},
             now)) {
      return false;
    }
    told_.attached = false;
  }
  if (!sight.attached || told_.attached) return true;
  if (!say(states_,
           {.type = "vm.attached",
            .fields = {{"pid", std::to_string(sight.pid)}},
            .text = fmt::format("a VMM (pid {}) has attached to {}", sight.pid, name_)},
           now)) {
    return false;
  }
  told_.attached = true;
  told_.pid = sight.pid;
  failure_told_ = false;
  return true;
}

bool PortWatch::look_at_port(const Sight& sight, Instant now) {
  const bool up = sight.active && sight.linked;
  if (up == (told_.active && told_.linked)) return true;
  const char* why =
      sight.linked ? "the guest's driver stopped" : "it was disconnected from its switch";
  if (!say(states_,
           {.type = up ? "port.up" : "port.down",
            .fields = {{"reason", up ? "" : why}},
            .text = up ? fmt::format("the port of {} is active", name_)
                       : fmt::format("the port of {} is down: {}", name_, why)},
           now)) {
    return false;
  }
  told_.active = sight.active;
  told_.linked = sight.linked;
  return true;
}

bool PortWatch::look_at_life(const Sight& sight, Instant now) {
  if (!sight.attached) {  // its VMM took it along
    told_.dead = false;
    told_.lost = false;
    return true;
  }
  if (sight.lost != told_.lost) {
    const std::string reason(sight.lost ? model::kLostAdapter : std::string_view());
    if (!say(states_,
             {.type = sight.lost ? "adapter.lost" : "adapter.recovered",
              .severity = sight.lost ? model::Severity::kError : model::Severity::kInfo,
              .fields = {{"reason", reason}},
              .text = sight.lost ? fmt::format("{} is lost to its guest: {}", name_, reason)
                                 : fmt::format("{} was reset by its guest's driver", name_)},
             now)) {
      return false;
    }
    told_.lost = sight.lost;
  }
  if (sight.dead == told_.dead) return true;
  const std::string_view problem = model::kDeadAdapter;
  if (!say(states_,
           {.type = sight.dead ? "adapter.dead" : "adapter.revived",
            .severity = sight.dead ? model::Severity::kError : model::Severity::kInfo,
            .fields = {{"reason", sight.dead ? std::string(problem) : std::string()}},
            .text = sight.dead ? fmt::format("{} is dead: {}", name_, problem)
                               : fmt::format("{} is not dead any more: its guest has configured it "
                                             "or was reset",
                                             name_)},
           now)) {
    return false;
  }
  told_.dead = sight.dead;
  return true;
}

bool PortWatch::look_at_counts(const Sight& sight, Instant now) {
  bool all = true;
  if (sight.errors > told_.errors) {
    const std::uint64_t more = sight.errors - told_.errors;
    const bool said = say(errors_,
                          {.type = "qp.errors",
                           .severity = model::Severity::kWarning,
                           .fields = {{"count", std::to_string(more)}},
                           .text = fmt::format("{} request{} of {} completed with an error", more,
                                               more == 1 ? "" : "s", name_)},
                          now);
    if (said) told_.errors = sight.errors;
    all = said;
  }
  if (sight.refusals > told_.refusals) {
    const std::uint64_t more = sight.refusals - told_.refusals;
    const bool said =
        say(refusals_,
            {.type = "quota.reached",
             .severity = model::Severity::kWarning,
             .fields = {{"count", std::to_string(more)}},
             .text = fmt::format("{} object{} denied to the guest of {}: a limit is reached", more,
                                 more == 1 ? " was" : "s were", name_)},
            now);
    if (said) told_.refusals = sight.refusals;
    all = said && all;
  }
  return all;
}

bool PortWatch::look_at_paths(const verbs::PathUse& paths, Instant now) {
  if (paths.changes() == seen_changes_ && !ways_untold_) return true;
  seen_changes_ = paths.changes();
  ways_untold_ = true;  // until all is said
  std::set<PathName> ways;
  std::map<PathName, std::string> reasons;
  for (const auto& [way, connections] : paths.counts()) {
    const WayName named = speech_.name(way);
    ways.insert(named.name);
    reasons[named.name] = named.why;
  }
  std::vector<PathName> ended;
  std::vector<PathName> made;
  std::ranges::set_difference(told_ways_, ways, std::back_inserter(ended));
  std::ranges::set_difference(ways, told_ways_, std::back_inserter(made));
  if (ended.size() == 1 && made.size() == 1) {
    const auto& [path, host] = made[0];
    const std::string& why = reasons[made[0]];
    const std::string before = text_of(ended[0]);
    if (!say_path("path.changed",
                  fmt::format("connections of {} now use path {} instead of {}: {}", name_,
                              text_of(made[0]), before, why),
                  {{"path", path}, {"peer_host", host}, {"before", before}, {"reason", why}},
                  now)) {
      return false;
    }
    told_ways_ = std::move(ways);
    ended.clear();
    made.clear();
  }
  if (!say_ended(ended, paths, now)) return false;
  for (const PathName& way : made) {
    const std::string& why = reasons[way];
    if (!say_path("path.made",
                  fmt::format("connections of {} use path {}: {}", name_, text_of(way), why),
                  {{"path", way.path}, {"peer_host", way.host}, {"reason", why}}, now)) {
      return false;
    }
    told_ways_.insert(way);
  }
  ways_untold_ = false;
  return true;
}

bool PortWatch::say_ended(const std::vector<PathName>& ended, const verbs::PathUse& paths,
                          Instant now) {
  if (ended.empty()) return true;
  std::map<PathName, std::string> lost;
  for (const auto& [way, ends] : paths.losses()) {
    lost[speech_.name(way).name] = speech_.why_none(adapter_, ends);
  }
  for (const PathName& way : ended) {
    const auto known = lost.find(way);
    const std::string why = known == lost.end() ? "its last connection ended" : known->second;
    if (!say_path("path.ended",
                  fmt::format("{} no longer uses path {}: {}", name_, text_of(way), why),
                  {{"path", way.path}, {"peer_host", way.host}, {"reason", why}}, now)) {
      return false;
    }
    told_ways_.erase(way);
  }
  return true;
}

bool PortWatch::say_path(const char* type, std::string text,
                         std::map<std::string, std::string> fields, Instant now) {
  return say(path_changes_, {.type = type, .fields = std::move(fields), .text = std::move(text)},
             now);
}

bool PortWatch::look_at_probes(const Sight& sight, Instant now) {
  if (sight.probe_changes == seen_probe_changes_ && !probes_untold_) return true;
  seen_probe_changes_ = sight.probe_changes;
  probes_untold_ = true;  // until all is said
  std::set<ProbedWay> there;
  if (speech_.probed_ways) {
    for (ProbedWay& way : speech_.probed_ways(adapter_)) there.insert(std::move(way));
  }
  // What no connection uses any more was not answered to its end.
  std::erase_if(unanswered_, [&](const ProbedWay& way) { return !there.contains(way); });
  for (const ProbedWay& way : there) {
    if (!way.answers || *way.answers != unanswered_.contains(way)) continue;
    if (!say_probe(way, *way.answers, now)) return false;
    if (*way.answers) {
      unanswered_.erase(way);
    } else {
      unanswered_.insert(way);
    }
  }
  probes_untold_ = false;
  return true;
}

bool PortWatch::say_probe(const ProbedWay& way, bool answers, Instant now) {
  return say(path_changes_,
             {.type = answers ? "path.answered" : "path.unanswered",
              .severity = answers ? model::Severity::kInfo : model::Severity::kWarning,
              .fields = {{"path", "roce"},
                         {"peer_gid", way.peer_gid},
                         {"gateway", way.gateway},
                         {"reason", way.why}},
              .text = answers ? fmt::format("{}: {} answers again through {}", name_, way.peer_gid,
                                            way.gateway)
                              : fmt::format("{} to {}: {}", name_, way.peer_gid, way.why)},
             now);
}

void PortWatch::failed(std::string_view reason, Instant now) {
  if (failure_told_) return;
  failure_told_ = say(states_,
                      {.type = "adapter.failed",
                       .severity = model::Severity::kError,
                       .fields = {{"reason", std::string(reason)}},
                       .text = fmt::format("{} failed and is lost to its VM: {}", name_, reason)},
                      now);
}

}  // namespace paravane::worker
