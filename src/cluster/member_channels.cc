#include "cluster/member_channels.h"

#include <fmt/core.h>

#include <utility>

namespace paravane::cluster {

void MemberChannels::on_made(const std::string& host, const std::string& key) {
  channels_[host] = {.key = key, .joined = {}};
}

std::string MemberChannels::why_ended(const inventory::MemberRecords& members,
                                      const std::string& host, Channel& channel) {
  const auto found = members.find(host);
  const std::string joined = found == members.end() ? std::string() : found->second.joined;
  if (channel.joined.empty()) {
    std::string reason = inventory::why_no_member(members, host, channel.key);
    if (reason.empty()) channel.joined = joined;
    return reason;
  }
  if (joined == channel.joined || members.empty()) return {};
  if (found == members.end()) return fmt::format("host {} is not a member of the cluster", host);
  return fmt::format("another machine is host {} now", host);
}

auto MemberChannels::look(const inventory::MemberRecords& members) -> std::vector<Ended> {
  std::vector<Ended> ended;
  for (auto& [host, channel] : channels_) {
    std::string reason = why_ended(members, host, channel);
    if (!reason.empty()) ended.push_back({.host = host, .reason = std::move(reason)});
  }
  for (const Ended& one : ended) channels_.erase(one.host);
  return ended;
}

}  // namespace paravane::cluster
