// Reads and writes the files that make this host a member of a cluster. Each file is replaced
// atomically, and the new file is on the disk when the function returns.
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
  std::string authority;            // the host that has the authority
  std::string door;                 // "192.0.2.1:28249", where the authority signs
  bool runs_etcd = false;           // whether etcd runs on this host
  bool own_etcd_authority = false;  // the cluster's authority signed etcd's certificate
  std::vector<std::string> etcd;    // "https://..."
  std::string etcd_user;
  std::string etcd_password;

  bool has_authority() const { return self.host == authority; }
};

// The format of the file.
nlohmann::json print_membership(const Membership& membership);
Result<Membership> parse_membership(const nlohmann::json& value);

// nullopt: this host is not in a cluster.
Result<std::optional<Membership>> load_membership(const settings::ClusterPaths& paths);
Status save_membership(const settings::ClusterPaths& paths, const Membership& membership);

// Writes a file with mode 0600. REQUIRES: its directory exists.
Status write_file(const std::filesystem::path& file, std::string_view text);
// Removes the incomplete files of write_file() calls that were killed. They may contain keys.
// REQUIRES: no other thread writes files of the cluster.
void remove_incomplete_files(const settings::ClusterPaths& paths);
// Reads a regular file of at most 16 MiB.
Result<std::string> read_file(const std::filesystem::path& file);
// Writes this host's certificate without its key to ClusterPaths::own_certificate().
Status write_own_certificate(const settings::ClusterPaths& paths);
// Creates an empty directory with mode 0700. Files of an unfinished attempt are deleted; with other
// files the function fails. Errors: also kBadState.
Status make_cluster_directory(const settings::ClusterPaths& paths);
// The names of a few files in the directory, except the file that marks it as unfinished.
std::vector<std::string> files_left(const settings::ClusterPaths& paths);
bool is_unfinished(const settings::ClusterPaths& paths);
// Removes the directory with all files, including keys. Waits up to 7 s for an etcd that is still
// stopping there.
void remove_cluster_directory(const settings::ClusterPaths& paths);
// Removes the data of the etcd that runs on this host. Waits up to 7 s for an etcd that is still
// stopping.
void remove_etcd_data(const settings::ClusterPaths& paths);

}  // namespace paravane::cluster
