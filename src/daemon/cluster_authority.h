// ClusterAuthority: what only the authority's host can do: make join tokens, let hosts in
// and out, sign. It keeps its book (authority.json) beside its key.
//
// Cluster thread. It asks etcd and waits for the answers.

#pragma once

#include <memory>
#include <set>
#include <string>

#include "authority/certificate.h"
#include "authority/door_message.h"
#include "authority/token.h"
#include "base/log_limit.h"
#include "daemon/cluster_files.h"
#include "inventory/etcd_client.h"

namespace paravane::daemon {

// Who may do all in etcd.
struct EtcdRoot {
  std::string user = "root";
  std::string password;
};

class ClusterAuthority {
 public:
  struct Config {
    ClusterPaths paths;
    Membership membership;
    inventory::OpenSocket open;
    std::uint64_t lifetime_s = 0;  // of what it signs
    std::string address;           // of this host
  };

  // Writes the files of a new one, this host's certificate among them.
  static Status make(const Config& config, const EtcdRoot& root, authority::Seconds now);
  // Errors: kIo, kInvalidArgument (damaged).
  static Result<std::unique_ptr<ClusterAuthority>> load(Config config);

  // Errors: kBadState (that host is a member), kResourceExhausted, kIo.
  Result<std::string> make_token(const std::string& host, authority::Seconds until,
                                 authority::Seconds now);

  // Never fails: what cannot be done is an answer. `peer`: who asks, by its certificate.
  authority::DoorAnswer answer(const std::optional<authority::Identity>& peer,
                               const authority::DoorRequest& request, authority::Seconds now);

  // Errors: kNotFound, kIo and others of EtcdClient's.
  Status remove(const std::string& host);
  // What a host says of itself is gone; it may say it again. Errors: EtcdClient's.
  Status silence(const std::string& host);
  // All that the cluster has in an etcd that stays. Errors: EtcdClient's.
  Status clear();
  // A new certificate for this host, over the same way as for others.
  Result<std::string> sign(const std::string& request, const std::string& host,
                           authority::Seconds now) const;

  // Those that are in, but for this one.
  const std::set<std::string>& others() const { return hosts_; }

 private:
  explicit ClusterAuthority(Config config) : config_(std::move(config)) {}
  Status save() const;
  authority::DoorAnswer join(const authority::DoorRequest& request, authority::Seconds now);
  authority::DoorAnswer renew(const std::string& host, const std::string& request,
                              authority::Seconds now) const;
  authority::DoorAnswer dismiss(const std::string& host);
  inventory::EtcdAccess root_access() const;

  Config config_;
  authority::KeyPair keys_;
  std::string fingerprint_;
  EtcdRoot root_;
  authority::TokenBook book_;
  std::set<std::string> hosts_;
  LogLimit refused_joins_;
};

// How etcd is reached by this host's own user.
inventory::EtcdAccess etcd_access(const ClusterPaths& paths, const Membership& membership);

}  // namespace paravane::daemon
