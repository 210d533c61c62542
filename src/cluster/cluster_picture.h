// ClusterPicture: a copy of the cluster thread's state for other threads. The output of `paravane
// cluster status` is created from this copy.
//
// A plain value.

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
  std::shared_ptr<const inventory::View> view;  // shared: readers keep the view they use
  // The claims of members that were away when this host last knew the cluster, at its start.
  std::shared_ptr<const inventory::View> away{};
  std::optional<authority::Identity> self;
  // If files of the cluster cannot be used: which files and why, the remedy, and this host's name
  // according to them.
  std::string damage;
  std::string damage_remedy;
  std::string damaged_host;
  inventory::MemberState state;
  std::string authority;         // the host that has the authority
  std::string sees{};            // the same host, while this host sees it running
  std::string succession{};      // the proof of its promotion; empty: it was not promoted
  std::uint64_t generation = 0;  // the newest generation that this host has followed
  std::vector<std::string> etcd;
  authority::Validity certificate;
  std::map<std::string, model::ChannelProblem> channels;  // of hosts in the view
  std::set<std::string> members;  // except the authority's host; known only there
};

model::ClusterStatus describe(const ClusterPicture& picture, const settings::Config& config);
// The adapters of all hosts, sorted by host, VM and number.
std::vector<model::ClusterAdapter> list_adapters(const ClusterPicture& picture);

}  // namespace paravane::cluster
