#include "subnet_host/infiniband_cables.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "model/distributed_switch.h"

namespace paravane::subnet_host {
namespace {

using model::ApiErrorCode;
using model::ApiResult;

constexpr const char* kManagerKind = "ib_manager";  // of documents in the store
constexpr std::size_t kMostManagers = 64;
constexpr std::string_view kHostWord = "host ";  // before a host's name in IbLink::peer
// The cable is made as the channel is, at the same place.
constexpr std::string_view kCableRemedy =
    "It is tried again and again; how the channel to that host is, and what helps, is in: paravane "
    "cluster status";

}  // namespace

ApiResult<void> InfinibandCables::load() {
  const auto kept = store_.documents(kManagerKind);
  if (!kept) return std::unexpected(kept.error());
  for (const auto& [name, value] : *kept) {
    if (const Status good = model::check_host_name(name); good)
      managers_.insert(name);
    else
      store_.leave_out(kManagerKind, name, good.error().message);
  }
  return {};
}

// ---- The cluster's side ----

void InfinibandCables::set_maker(Maker* maker) {
  maker_ = maker;
  if (maker_ != nullptr) maker_->set_cables(has_adapters_);
}

void InfinibandCables::set_hosts(const std::string& self, std::set<std::string> hosts) {
  is_apart_ = self.empty() && hosts.empty();
  const std::string& name = self.empty() ? own_name_ : self;
  if (hosts == hosts_ && name == host_) return;
  host_ = name;
  hosts_ = std::move(hosts);
  std::erase_if(problems_, [this](const auto& entry) { return !hosts_.contains(entry.first); });
  std::erase_if(lines_, [this](const auto& entry) { return !hosts_.contains(entry.first); });
  tell_thread();
}

void InfinibandCables::tell_thread() {
  if (thread_ == nullptr) return;
  thread_->post([thread = thread_, host = host_, hosts = hosts_, managers = managers_] {
    thread->subnet().set_host(host);
    thread->cables().set_managers(managers);
    thread->cables().set_hosts(hosts);
  });
}

void InfinibandCables::add(const std::string& host, std::uint64_t number,
                           std::unique_ptr<cable::ByteStream> stream) {
  if (thread_ == nullptr || !hosts_.contains(host)) {
    if (maker_ != nullptr)
      maker_->on_cable_lost(host, number,
                            "this host has no InfiniBand adapter, or none is known of that host");
    return;
  }
  lines_[host] = number;
  problems_.erase(host);
  auto shared = std::make_shared<std::unique_ptr<cable::ByteStream>>(std::move(stream));
  thread_->post([thread = thread_, host, number, shared] {
    thread->connect(host, number, std::move(*shared));
  });
}

void InfinibandCables::set_problem(const std::string& host, const std::string& problem) {
  if (problem.empty())
    problems_.erase(host);
  else if (hosts_.contains(host))
    problems_[host] = problem;
}

void InfinibandCables::cut(const std::string& host, const std::string& reason) {
  const auto line = lines_.find(host);
  if (line == lines_.end()) return;
  if (thread_ != nullptr) {
    thread_->post(
        [thread = thread_, host, number = line->second] { thread->cables().cut(host, number); });
  }
  on_lost(host, line->second, reason);
}

void InfinibandCables::cut_all(const std::string& reason) {
  for (const auto& [host, number] : std::map(lines_)) cut(host, reason);
}

// ---- The subnet's side ----

void InfinibandCables::begin(SubnetThread& thread) {
  thread_ = &thread;
  tell_thread();
}

void InfinibandCables::end() {
  thread_ = nullptr;
  for (const auto& [host, number] : std::exchange(lines_, {})) {
    if (maker_ != nullptr)
      maker_->on_cable_lost(host, number, "the InfiniBand adapters of this host were restarted");
  }
}

void InfinibandCables::set_adapters(bool has_adapters) {
  if (std::exchange(has_adapters_, has_adapters) == has_adapters) return;
  if (maker_ != nullptr) maker_->set_cables(has_adapters);
}

void InfinibandCables::on_lost(const std::string& host, std::uint64_t number,
                               const std::string& reason) {
  const auto line = lines_.find(host);
  if (line == lines_.end() || line->second != number) return;
  lines_.erase(line);
  if (hosts_.contains(host)) problems_[host] = reason;
  if (maker_ != nullptr) maker_->on_cable_lost(host, number, reason);
}

std::string InfinibandCables::problem_of(const std::string& host) const {
  const auto found = problems_.find(host);
  if (found != problems_.end()) return found->second;
  return lines_.contains(host) ? std::string() : "not connected yet";
}

std::string InfinibandCables::why_down(const std::string& host,
                                       const std::string& otherwise) const {
  if (!hosts_.contains(host) || otherwise.empty())
    return "no InfiniBand adapter of that host is known any more";
  const std::string problem = problem_of(host);
  return problem.empty() ? otherwise : problem;
}

void InfinibandCables::explain(model::IbFabric& fabric, bool has_manager) const {
  for (model::IbLink& link : fabric.links) {
    if (!link.peer.starts_with(kHostWord)) continue;
    const std::string host = link.peer.substr(kHostWord.size());
    if (const std::string problem = problem_of(host); !problem.empty()) {
      link.problem = fmt::format("{}. {}", problem, kCableRemedy);
      continue;
    }
    if (!link.problem.empty() || !link.refuses_manager || managers_.contains(host)) continue;
    // While the cable to a host that is heard is out, its manager tries the way through others.
    if (!managers_.empty() && link.state == model::IbPortState::kActive) continue;
    link.problem = unheard(host, has_manager);
  }
}

std::string InfinibandCables::unheard(const std::string& host, bool has_manager) const {
  if (!has_manager)
    return fmt::format(
        "host {} is not heard as a subnet manager; to let it manage this host's part of the "
        "subnet: paravane infiniband sm add {}",
        host, host);
  return fmt::format(
      "host {} has a subnet manager, as this host has, and is not heard here: both may give the "
      "same LIDs. Have each name the other, here with: paravane infiniband sm add {}, and on {} "
      "with: paravane infiniband sm add {}; then restart opensm on one of them",
      host, host, host, host_);
}

// ---- Operators ----

std::vector<model::IbManager> InfinibandCables::list_managers() const {
  std::vector<model::IbManager> list{{.host = host_}};
  for (const std::string& host : managers_) {
    if (host == host_) continue;
    const bool has_cable = hosts_.contains(host);
    list.push_back({.host = host,
                    .problem = has_cable ? problem_of(host)
                                         : "the cluster has no host of this name with an "
                                           "InfiniBand adapter, as far as is known"});
  }
  return list;
}

ApiResult<void> InfinibandCables::add_manager(const std::string& host) {
  if (host == host_ || managers_.contains(host)) return {};
  if (managers_.size() >= kMostManagers) {
    return model::refuse(ApiErrorCode::kLimitReached,
                         fmt::format("the limit of {} hosts is reached", kMostManagers),
                         "Remove one first, with: paravane infiniband sm remove HOST");
  }
  if (auto kept = store_.put_document(kManagerKind, host, nlohmann::json::object()); !kept)
    return kept;
  managers_.insert(host);
  tell_thread();
  return {};
}

ApiResult<void> InfinibandCables::remove_manager(const std::string& host) {
  if (host == host_) {
    return model::refuse(
        ApiErrorCode::kInvalidRequest,
        fmt::format("{} is this host, whose own subnet manager is always heard", host),
        "Stop the subnet manager instead.");
  }
  if (!managers_.contains(host)) {
    return model::refuse(ApiErrorCode::kNotFound,
                         fmt::format("host {} is not heard as a subnet manager", host),
                         "List the hosts with: paravane infiniband sm list");
  }
  if (auto erased = store_.erase_document(kManagerKind, host); !erased) return erased;
  managers_.erase(host);
  tell_thread();
  return {};
}

}  // namespace paravane::subnet_host
