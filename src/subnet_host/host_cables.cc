#include "subnet_host/host_cables.h"

#include <fmt/core.h>
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

namespace paravane::subnet_host {

HostCables::~HostCables() {
  for (auto& [host, end] : ends_) drop_line(end);
}

void HostCables::set_hosts(const std::set<std::string>& hosts) {
  for (auto& [host, end] : ends_) {
    if (!hosts.contains(host)) drop_line(end);
  }
  std::erase_if(ends_, [&hosts](const auto& entry) { return !hosts.contains(entry.first); });
  for (const std::string& host : hosts) {
    if (ends_.contains(host)) continue;
    auto cable = cable::Cable::attach(host, subnet_, clock_);
    if (!cable) return;
    End& end = ends_[host];
    end.cable = std::move(cable);
    let_manage(host, end);
  }
}

Status HostCables::connect(const std::string& host, std::uint64_t number,
                           std::unique_ptr<cable::ByteStream> stream) {
  const auto found = ends_.find(host);
  if (found == ends_.end())
    return fail(Errc::kNotFound,
                fmt::format("the switch of this host has {} cables, and no port for another",
                            subnet::Subnet::kMostCables));
  End& end = found->second;
  drop_line(end);
  const int fd = stream->fd();
  end.cable->connect(std::move(stream));
  end.number = number;
  const Status watched =
      loop_.watch(fd, EPOLLIN, [cable = end.cable.get()](std::uint32_t) { cable->heard_event(); });
  if (watched)
    end.fd = fd;
  else
    end.cable->disconnect();
  return watched;
}

void HostCables::drop_line(End& end) {
  if (end.fd >= 0) loop_.unwatch(std::exchange(end.fd, -1));
  end.waits_to_write = false;
  if (end.cable->line() != nullptr) end.cable->disconnect();
}

void HostCables::cut(const std::string& host, std::uint64_t number) {
  const auto found = ends_.find(host);
  if (found != ends_.end() && found->second.number == number) drop_line(found->second);
}

void HostCables::set_managers(std::set<std::string> hosts) {
  managers_ = std::move(hosts);
  for (const auto& [host, end] : ends_) let_manage(host, end);
}

void HostCables::let_manage(const std::string& host, const End& end) {
  subnet_.the_switch().let_manage(end.cable->port(), managers_.contains(host));
}

const cable::Line* HostCables::line(const std::string& host) const {
  const auto found = ends_.find(host);
  return found == ends_.end() ? nullptr : found->second.cable->line();
}

bool HostCables::other_end_is_down(const std::string& host) const {
  const auto found = ends_.find(host);
  return found != ends_.end() && found->second.cable->other_end_is_down();
}

template <typename Act>
bool HostCables::for_a_time(std::string& next, const Act& act) {
  if (ends_.empty()) return false;
  const Instant until = time_() + kTimePerTurn;
  auto at = ends_.lower_bound(next);
  for (std::size_t seen = 0; seen < ends_.size(); ++seen) {
    if (at == ends_.end()) at = ends_.begin();
    const bool goes_on = act(at->first, at->second);
    ++at;
    if (goes_on && time_() < until) continue;
    next = at == ends_.end() ? std::string() : at->first;
    return true;
  }
  return false;
}

bool HostCables::receive() {
  std::size_t left = kFramesPerTurn;
  bool has_more = false;
  const bool is_over = for_a_time(next_heard_, [&](const std::string& host, End& end) {
    const cable::Line* line = end.cable->line();
    if (line == nullptr || !line->may_have_more()) return true;
    left -= end.cable->receive(std::min(left, kFramesOfOne));
    judge(host, end);
    has_more |= end.cable->line() != nullptr && end.cable->line()->may_have_more();
    return left > 0;
  });
  return has_more || is_over;
}

bool HostCables::flush() {
  return for_a_time(next_sent_, [this](const std::string& host, End& end) {
    end.cable->flush();
    judge(host, end);
    watch_writing(end);
    return true;
  });
}

void HostCables::watch_writing(End& end) {
  const cable::Line* line = end.cable->line();
  if (line == nullptr || line->is_held_up() == end.waits_to_write) return;
  const std::uint32_t writing = line->is_held_up() ? std::uint32_t{EPOLLOUT} : 0U;
  if (loop_.change(end.fd, EPOLLIN | writing)) end.waits_to_write = writing != 0;
}

std::string HostCables::host_with_guid_of(const End& end) const {
  const std::uint64_t guid = end.cable->line()->peer_guid();
  for (const auto& [host, other] : ends_) {
    const cable::Line* line = other.cable->line();
    if (&other != &end && guid != 0 && line != nullptr && line->peer_guid() == guid) return host;
  }
  return {};
}

// A line of no use ends. Of two switches with one GUID the subnet manager would take one for the
// other: the cable that was there first stays.
void HostCables::judge(const std::string& host, End& end) {
  if (end.cable->line() != nullptr && end.number != end.judged) {
    if (const std::string other = host_with_guid_of(end); !other.empty())
      end.cable->refuse_line(
          fmt::format("its switch has GUID 0x{:016x}, as that of host {} has: one of the two has a "
                      "copy of the other's state directory. Give it an empty one",
                      end.cable->line()->peer_guid(), other));
    if (end.cable->line()->peer_guid() != 0) end.judged = end.number;
  }
  if (end.cable->line() == nullptr || end.cable->line()->problem().empty()) return;
  const std::string reason = end.cable->line()->problem();
  drop_line(end);
  if (on_lost_) on_lost_(host, end.number, reason);
}

void HostCables::on_time(Instant now) {
  for (auto& [host, end] : ends_) {
    end.cable->on_time(now);
    judge(host, end);
  }
}

Instant HostCables::next_deadline() const {
  Instant next = kNever;
  for (const auto& [host, end] : ends_) next = std::min(next, end.cable->next_deadline());
  return next;
}

}  // namespace paravane::subnet_host
