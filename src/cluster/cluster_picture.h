// ClusterPicture: the part of the cluster thread's state that other threads may read, and the
// output of `paravane cluster status` that is made from it.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "authority/certificate.h"
#include "inventory/member.h"
#include "model/cluster.h"
#include "settings/config.h"

namespace paravane::cluster {

struct ClusterPicture {
  std::shared_ptr<const inventory::View> view;  // shared: readers keep what they look at
  std::optional<authority::Identity> self;
  // Of files that cannot be used: which and why, and what to do; what they call this host.
  std::string damage;
  std::string damage_remedy;
  std::string damaged_host;
  inventory::MemberState state;
  std::string authority;         // the host that has it
  std::string sees{};            // the same, while this host sees that it runs
  std::string succession{};      // the proof of it, if it was promoted
  std::uint64_t generation = 0;  // the newest that this host has followed
  std::vector<std::string> etcd;
  authority::Validity certificate;
  std::map<std::string, model::ChannelProblem> channels;  // of hosts in the view
  std::set<std::string> members;  // but for the authority's host; known there alone
};

model::ClusterStatus describe(const ClusterPicture& picture, const settings::Config& config);
// In the order of hosts, VMs and numbers.
std::vector<model::ClusterAdapter> list_adapters(const ClusterPicture& picture);

}  // namespace paravane::cluster
