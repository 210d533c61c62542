// AuthorityBook: the records of a cluster's authority, the host that signs certificates and admits
// members. They are stored in authority.json beside the authority's key. They consist of the
// members with their keys, the join tokens, the etcd user with all rights, the generation (version
// number) of the configuration, and the hosts that are currently not permitted to write to etcd.
//
// A plain value. Errors: kIo (with path and cause), kInvalidArgument (damaged).

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "authority/member_book.h"
#include "authority/token.h"
#include "base/result.h"
#include "inventory/generation.h"
#include "settings/cluster_paths.h"

namespace paravane::cluster {

inline constexpr std::size_t kEtcdPasswordBytes = 32;  // random, of root and of each host

// The etcd user that has all rights.
struct EtcdRoot {
  std::string user = "root";
  std::string password;
};

struct AuthorityBook {
  EtcdRoot root{};
  authority::TokenBook tokens{};
  authority::MemberBook members{};  // the authority's own host among them
  inventory::Generation generation{};
  std::set<std::string> curbed{};
};

nlohmann::json print_book(const AuthorityBook& book);
Result<AuthorityBook> parse_book(const nlohmann::json& value);

Status write_book(const settings::ClusterPaths& paths, const AuthorityBook& book);
Result<AuthorityBook> load_book(const settings::ClusterPaths& paths);

}  // namespace paravane::cluster
