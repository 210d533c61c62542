#include "cli/restore_summary.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "text/text_cell.h"

namespace paravane::cli {

using model::AcceptSummary;
using model::ClusterStatus;
using model::FollowedGeneration;
using text::printable;

namespace {

// How long ago, in the unit in which it is 2 at least.
std::string print_age(std::chrono::seconds age) {
  using std::chrono::days;
  using std::chrono::hours;
  using std::chrono::minutes;
  if (age < -minutes(1)) return "which is in the future according to this machine's clock";
  if (age >= days(2)) return fmt::format("{} days ago", age / days(1));
  if (age >= hours(2)) return fmt::format("{} hours ago", age / hours(1));
  return fmt::format("{} minutes ago", std::max<std::int64_t>(age / minutes(1), 0));
}

std::string print_names(const std::vector<std::string>& names) {
  return printable(fmt::format("{}", fmt::join(names, ", ")));
}

std::string print_followed(const FollowedGeneration& other) {
  std::string said;
  if (other.generation) said = fmt::format("generation {}", *other.generation);
  if (other.problem.empty()) return said;
  return fmt::format("{}{}{}", said, said.empty() ? "" : ": ", printable(other.problem));
}

bool follows(const std::string& name, const ClusterStatus& status) {
  const auto host = std::ranges::find(status.hosts, name, &model::ClusterHost::name);
  return host != status.hosts.end() && host->present && !host->ahead &&
         host->generation == status.generation;
}

std::vector<std::string> names_of(const AcceptSummary& summary, auto wanted) {
  std::vector<std::string> names;
  for (const FollowedGeneration& other : summary.others) {
    if (wanted(other)) names.push_back(other.host);
  }
  return names;
}

std::string tell_of(const std::vector<std::string>& names, const char* what) {
  return names.empty() ? std::string() : fmt::format("{}: {}\n", what, print_names(names));
}

}  // namespace

std::string print_backup_summary(const model::BackupSummary& backup, std::chrono::sys_seconds now) {
  const auto made = std::chrono::sys_seconds(std::chrono::seconds(backup.made_s));
  std::string text = fmt::format(
      "Backup of cluster {}\n"
      "  made         {:%F %T} UTC by paravaned {}, {}\n"
      "  of host      {} at {}, which had the authority\n"
      "  generation   {} of the configuration\n"
      "  members      {}\n"
      "  switches     {}, with {} port groups\n",
      printable(backup.cluster), made, printable(backup.version), print_age(now - made),
      printable(backup.host), printable(backup.address), backup.generation,
      print_names(backup.members), backup.switches, backup.port_groups);
  if (!backup.replaces.empty())
    text += fmt::format("It replaces {}.\n", printable(backup.replaces));
  return text;
}

std::string warn_of_members(const model::BackupSummary& backup) {
  std::vector<std::string> others = backup.members;
  std::erase(others, backup.host);
  if (others.empty()) return {};
  return fmt::format(
      "Members according to this backup: {}. A host that was removed or has left since then\n"
      "becomes a member again; to remove it again: paravane cluster remove HOST\n",
      print_names(others));
}

std::string print_accept_summary(const AcceptSummary& summary) {
  std::string text = fmt::format(
      "Configuration of cluster {1} on host {0}\n"
      "  generation   {2} of the configuration\n"
      "  members      {3}\n"
      "  switches     {4}, with {5} port groups\n"
      "Generations that the other hosts follow\n",
      printable(summary.host), printable(summary.cluster), summary.generation,
      print_names(summary.members), summary.switches, summary.port_groups);
  if (summary.others.empty()) text += "  (there is no other host)\n";
  for (const FollowedGeneration& other : summary.others) {
    text += fmt::format("  {:<12} {}\n", printable(other.host), print_followed(other));
  }
  text += fmt::format(
      "Switches, port groups and members that host {0} does not have will be removed from all\n"
      "hosts. A host that was removed or has left since host {0}'s copy was made becomes a member\n"
      "again; to remove it again: paravane cluster remove HOST\n",
      printable(summary.host));
  const auto silent = names_of(summary, [](const auto& other) { return !other.generation; });
  const auto odd =
      names_of(summary, [](const auto& other) { return other.generation && !other.counts; });
  text += tell_of(silent, "Hosts that may follow later, or refuse to follow");
  text += tell_of(odd, "Hosts that will not follow");
  return text;
}

bool all_follow(const AcceptSummary& summary, const ClusterStatus& status) {
  return std::ranges::all_of(summary.others, [&status](const FollowedGeneration& other) {
    return !other.counts || follows(other.host, status);
  });
}

std::string print_followers(const AcceptSummary& summary, const ClusterStatus& status) {
  const auto do_follow = [&status](const auto& other) { return follows(other.host, status); };
  const auto do_not = [&](const auto& other) { return !do_follow(other); };
  const std::string others = tell_of(names_of(summary, do_not), "Hosts that do not follow yet");
  std::string text = tell_of(names_of(summary, do_follow), "Hosts that follow") + others;
  if (others.empty()) return text;
  return text + fmt::format(
                    "Run paravane cluster status on the hosts that do not follow. If one reports\n"
                    "that the configuration of host {} is older, run this command again while\n"
                    "that host answers, or remove that host and let it join again.\n",
                    printable(summary.host));
}

}  // namespace paravane::cli
