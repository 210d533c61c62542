#include "testing/subnet_manager.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <utility>

namespace paravane::fake {

namespace attribute = wire::infiniband::attribute;
namespace method = wire::infiniband::method;
using wire::infiniband::kNoPort;
using wire::infiniband::NodeInfo;
using wire::infiniband::PortInfo;
using wire::infiniband::PortState;
using wire::infiniband::SwitchInfo;

namespace {

constexpr std::uint8_t kStateMask = 0x0F;
constexpr std::uint8_t kPhysicalMask = 0xF0;

std::array<std::uint64_t, 2> manager_methods() {
  std::array<std::uint64_t, 2> methods{};
  for (const std::uint8_t one : {method::kGet, method::kSet, method::kTrap, method::kTrapRepress})
    methods[one / 64] |= std::uint64_t{1} << (one % 64);
  return methods;
}

PortState state_in(const PortInfo& info) {
  return static_cast<PortState>(info.speed_supported_state & kStateMask);
}

}  // namespace

SubnetManager::SubnetManager(subnet::MadPort& mads, const TurnClock& clock,
                             std::function<void()> step)
    : mads_(mads), clock_(clock), step_(std::move(step)) {
  namespace management_class = wire::infiniband::management_class;
  const auto as = [this](std::uint8_t a_class) {
    const auto made = mads_.register_agent(
        {.management_class = a_class, .class_version = 1, .methods = manager_methods()}, *this);
    if (!made) std::abort();
    return *made;
  };
  by_route_ = as(management_class::kSubnetByRoute);
  by_lid_ = as(management_class::kSubnetByLid);
  mads_.set_manager(true);
}

SubnetManager::~SubnetManager() {
  mads_.set_manager(false);
  mads_.unregister(by_route_);
  mads_.unregister(by_lid_);
}

void SubnetManager::use_key(std::uint64_t key, std::uint8_t protection) {
  key_ = key;
  protection_ = protection;
}

// ---- Questions ----

std::optional<Smp> SubnetManager::ask(Smp smp, std::uint16_t lid) {
  const std::uint32_t transaction = next_transaction_++;
  smp.header.transaction.set(transaction);
  smp.management_key.set(key_);
  // As opensm does, both classes by one agent.
  const subnet::MadAddress to{.lid = lid};
  if (!mads_.send(by_route_, to, mad_bytes(smp), std::chrono::seconds(1), 0, clock_.now))
    return std::nullopt;
  step_();
  const auto found = answers_.extract(transaction);
  return found.empty() ? std::nullopt : std::optional(found.mapped());
}

std::optional<Smp> SubnetManager::change_port(const RoutePath& path, std::uint8_t port,
                                              const std::function<void(PortInfo&)>& change) {
  const auto read = ask_at(path, get_of(attribute::kPortInfo, port));
  if (!read || status_of(*read) != 0) return read;
  auto info = attribute_in<PortInfo>(*read);
  info.speed_supported_state &= static_cast<std::uint8_t>(~kStateMask);
  info.physical_state_default &= static_cast<std::uint8_t>(~kPhysicalMask);
  change(info);
  return ask_at(path, set_of(attribute::kPortInfo, info, port));
}

void SubnetManager::on_mad(subnet::AgentId /*agent*/, const subnet::MadAddress& from,
                           std::span<const std::byte> mad) {
  Smp smp;
  std::memcpy(&smp, mad.data(), std::min(sizeof smp, mad.size()));
  if (smp.header.method == method::kGetResponse) {
    answers_[static_cast<std::uint32_t>(smp.header.transaction.get())] = smp;
    return;
  }
  heard_.push_back({.from = from, .smp = smp});
  if (smp.header.method != method::kTrap || !represses_) return;
  smp.header.method = method::kTrapRepress;
  smp.management_key.set(key_);
  (void)mads_.send(by_route_, {.lid = from.lid}, mad_bytes(smp), Duration::zero(), 0, clock_.now);
}

// ---- Nodes ----

const SubnetManager::Node* SubnetManager::find(std::uint64_t port_guid) const {
  const auto found = std::ranges::find_if(
      nodes_, [port_guid](const Node& node) { return node.info.port_guid.get() == port_guid; });
  return found == nodes_.end() ? nullptr : &*found;
}

std::uint16_t SubnetManager::lid_of(std::uint64_t port_guid) const {
  const Node* node = find(port_guid);
  return node == nullptr ? 0 : node->lid;
}

std::size_t SubnetManager::add_node(const RoutePath& path, const NodeInfo& info) {
  const std::uint64_t guid = info.port_guid.get();
  const auto lid = static_cast<std::uint16_t>(lids_.size() + 1);
  nodes_.push_back({.path = path, .info = info, .lid = lids_.try_emplace(guid, lid).first->second});
  return nodes_.size() - 1;
}

void SubnetManager::discover() {
  nodes_.clear();
  const auto own = ask_at({}, get_of(attribute::kNodeInfo));
  if (!own) return;
  const auto self = attribute_in<NodeInfo>(*own);
  add_node({}, self);
  const RoutePath out{self.local_port};
  const auto next = ask_at(out, get_of(attribute::kNodeInfo));
  if (!next) return;
  add_node(out, attribute_in<NodeInfo>(*next));
  for (std::size_t at = 1; at < nodes_.size(); ++at) {
    if (nodes_[at].is_switch()) follow_links(at);
  }
}

void SubnetManager::follow_links(std::size_t at) {
  for (unsigned port = 1; port <= nodes_[at].info.ports; ++port) {
    const auto read = ask_at(nodes_[at].path, get_of(attribute::kPortInfo, port));
    if (!read || state_in(attribute_in<PortInfo>(*read)) == PortState::kDown) continue;
    RoutePath path = nodes_[at].path;
    path.push_back(static_cast<std::uint8_t>(port));
    const auto seen = ask_at(path, get_of(attribute::kNodeInfo));
    if (!seen) continue;
    const auto info = attribute_in<NodeInfo>(*seen);
    const Node* known = find(info.port_guid.get());
    const std::size_t peer =
        known != nullptr ? static_cast<std::size_t>(known - nodes_.data()) : add_node(path, info);
    nodes_[at].links[static_cast<std::uint8_t>(port)] = peer;
  }
}

// ---- Making it active ----

void SubnetManager::sweep() {
  discover();
  for (const Node& node : nodes_) give_lid(node);
  for (std::size_t at = 0; at < nodes_.size(); ++at) {
    if (nodes_[at].is_switch()) write_linear(at);
  }
  order(PortState::kArmed);
  order(PortState::kActive);
}

void SubnetManager::give_lid(const Node& node) {
  const std::uint16_t master = nodes_.front().lid;
  (void)change_port(node.path, 0, [this, &node, master](PortInfo& info) {
    info.lid.set(node.lid);
    info.master_lid.set(master);
    info.management_key.set(key_);
    info.protection_lmc = static_cast<std::uint8_t>(protection_ << 6);
  });
}

std::vector<std::uint8_t> SubnetManager::ways_from(std::size_t at) const {
  std::vector<std::uint8_t> ways(nodes_.size(), kNoPort);
  ways[at] = 0;
  std::deque<std::size_t> next;
  for (const auto& [port, peer] : nodes_[at].links) {
    if (ways[peer] != kNoPort) continue;
    ways[peer] = port;
    next.push_back(peer);
  }
  for (; !next.empty(); next.pop_front()) {
    for (const auto& [port, peer] : nodes_[next.front()].links) {
      if (ways[peer] != kNoPort) continue;
      ways[peer] = ways[next.front()];
      next.push_back(peer);
    }
  }
  return ways;
}

void SubnetManager::write_linear(std::size_t at) {
  const RoutePath path = nodes_[at].path;
  std::map<std::size_t, wire::infiniband::LinearBlock> blocks;
  std::uint16_t top = 0;
  const std::vector<std::uint8_t> ways = ways_from(at);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::uint16_t lid = nodes_[i].lid;
    top = std::max(top, lid);
    auto [block, is_new] = blocks.try_emplace(lid / wire::infiniband::kLidsInLinearBlock);
    if (is_new) block->second.fill(kNoPort);
    block->second[lid % wire::infiniband::kLidsInLinearBlock] = ways[i];
  }
  if (const auto read = ask_at(path, get_of(attribute::kSwitchInfo))) {
    auto info = attribute_in<SwitchInfo>(*read);
    info.linear_top.set(top);
    info.life_change |= wire::infiniband::kPortStateChanged;  // which clears it
    (void)ask_at(path, set_of(attribute::kSwitchInfo, info));
  }
  for (const auto& [number, block] : blocks)
    (void)ask_at(path, set_of(attribute::kLinearTable, block, static_cast<std::uint32_t>(number)));
}

// First the far ends: a link is used once both are active.
void SubnetManager::order(PortState state) {
  const auto go = [state](PortInfo& info) {
    info.speed_supported_state |= static_cast<std::uint8_t>(state);
  };
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (!node->is_switch()) {
      (void)change_port(node->path, 0, go);
      continue;
    }
    for (const auto& [port, peer] : node->links) (void)change_port(node->path, port, go);
  }
}

void SubnetManager::make_group(std::uint16_t multicast_lid,
                               std::span<const std::uint64_t> port_guids) {
  const std::size_t entry = multicast_lid - wire::infiniband::kFirstMulticastLid;
  const auto block = static_cast<std::uint32_t>(entry / wire::infiniband::kLidsInMulticastBlock);
  for (std::size_t at = 0; at < nodes_.size(); ++at) {
    if (!nodes_[at].is_switch()) continue;
    const std::vector<std::uint8_t> ways = ways_from(at);
    std::map<std::uint32_t, std::uint16_t> masks;  // by position
    for (std::uint32_t i = 0; i * 16 <= nodes_[at].info.ports; ++i) masks[i] = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const bool is_member =
          std::ranges::find(port_guids, nodes_[i].info.port_guid.get()) != port_guids.end();
      if (is_member && ways[i] != kNoPort)
        masks[ways[i] / 16U] |= static_cast<std::uint16_t>(1U << (ways[i] % 16U));
    }
    for (const auto& [position, mask] : masks) {
      const std::uint32_t modifier = (position << 28) | block;
      const auto read = ask_at(nodes_[at].path, get_of(attribute::kMulticastTable, modifier));
      if (!read || status_of(*read) != 0) continue;
      auto table = attribute_in<wire::infiniband::MulticastBlock>(*read);
      table[entry % wire::infiniband::kLidsInMulticastBlock].set(mask);
      (void)ask_at(nodes_[at].path, set_of(attribute::kMulticastTable, table, modifier));
    }
  }
}

bool SubnetManager::write_partitions(const Node& node, std::vector<std::uint16_t> keys,
                                     std::uint8_t port) {
  wire::infiniband::PartitionBlock block;
  keys.resize(block.size());
  for (std::size_t i = 0; i < keys.size(); ++i) block[i].set(keys[i]);
  const auto answer =
      ask_at(node.path, set_of(attribute::kPartitionTable, block, std::uint32_t{port} << 16));
  return answer && status_of(*answer) == 0;
}

}  // namespace paravane::fake
