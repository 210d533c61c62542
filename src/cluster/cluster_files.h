// Reads and writes the files that make this host a member of a cluster. A file is replaced
// atomically, and it is on disk when the call returns.
//
// Errors: kIo (with path and cause), kInvalidArgument (damaged).

#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "authority/identity.h"
#include "base/result.h"
#include "settings/cluster_paths.h"

namespace paravane::cluster {

struct Membership {
  authority::Identity self;
  std::string authority;            // the host that has it
  std::string door;                 // "192.0.2.1:28249": where it signs
  bool runs_etcd = false;           // this host's keeper does
  bool own_etcd_authority = false;  // etcd's certificate is by the cluster's authority
  std::vector<std::string> etcd;    // "https://..."
  std::string etcd_user;
  std::string etcd_password;

  bool has_authority() const { return self.host == authority; }
};

// As it stands in its file.
nlohmann::json print_membership(const Membership& membership);
Result<Membership> parse_membership(const nlohmann::json& value);

// nullopt: this host is in no cluster.
Result<std::optional<Membership>> load_membership(const settings::ClusterPaths& paths);
Status save_membership(const settings::ClusterPaths& paths, const Membership& membership);

// Mode 0600. Its directory must be there.
Status write_file(const std::filesystem::path& file, std::string_view text);
// A regular file of at most 16 MiB.
Result<std::string> read_file(const std::filesystem::path& file);
// This host's certificate without its key, as ClusterPaths::own_certificate().
Status write_own_certificate(const settings::ClusterPaths& paths);
// Empty, mode 0700. Nothing may be there but what was left unfinished. Errors: also kBadState.
Status make_cluster_directory(const settings::ClusterPaths& paths);
// Names of what is there, but for the note that it is unfinished; a few.
std::vector<std::string> files_left(const settings::ClusterPaths& paths);
bool is_unfinished(const settings::ClusterPaths& paths);
// All of it, keys too. Waits for an etcd that ends there, 7 s at most.
void remove_cluster_directory(const settings::ClusterPaths& paths);
// What an etcd of this host's own has there. Waits as long for one that ends.
void remove_etcd_data(const settings::ClusterPaths& paths);

}  // namespace paravane::cluster
