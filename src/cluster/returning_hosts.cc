#include "cluster/returning_hosts.h"

#include <cassert>
#include <utility>

namespace paravane::cluster {

using inventory::Host;
using inventory::View;

namespace {

bool is_said(const View& read, const std::string& host) {
  const auto found = read.hosts.find(host);
  return found != read.hosts.end() && found->second.info;
}

// Before the authority's own record is there, the list of members is not whole.
bool may_return(const View& read, const std::string& host) {
  return !is_said(read, host) && (read.members.empty() || read.members.contains(host));
}

// Whatever others claim by now is theirs.
void keep_host(View& view, const std::string& name, const Host& before) {
  Host& host = view.hosts[name];
  host.info = before.info;
  for (const auto& [id, adapter] : before.adapters) {
    if (!view.macs.try_emplace(adapter.mac, inventory::GidOwner{name, id}).second) continue;
    host.adapters.try_emplace(id, adapter);
  }
  for (const auto& [gid, id] : before.gids) {
    if (!host.adapters.contains(id)) continue;
    if (view.gids.try_emplace(gid, inventory::GidOwner{name, id}).second) host.gids[gid] = id;
  }
}

}  // namespace

ReturningHosts::SharedView ReturningHosts::complete(SharedView read, const View* known,
                                                    const std::set<std::string>& connected,
                                                    Instant now) {
  if (std::exchange(was_away_, false)) {
    awaited_ = connected;
    deadline_ = now + kReturn;
  }
  if (known == nullptr || now >= deadline_) awaited_.clear();
  std::erase_if(awaited_, [&](const std::string& host) {
    return !may_return(*read, host) || !is_said(*known, host);
  });
  read_ = awaited_.empty() ? nullptr : read;
  if (awaited_.empty()) return read;
  auto completed = std::make_shared<View>(*read);
  for (const std::string& host : awaited_) keep_host(*completed, host, known->hosts.at(host));
  return completed;
}

ReturningHosts::SharedView ReturningHosts::give_up() {
  assert(read_ != nullptr);
  awaited_.clear();
  return std::exchange(read_, nullptr);
}

}  // namespace paravane::cluster
