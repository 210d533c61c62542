// ClusterManagement is the interface for the requests that an operator can make to a host about its
// cluster. Calls may come from any of the API's threads and return within a bounded time. Creating
// or joining a cluster takes a few seconds.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/api_error.h"
#include "model/closed_channel.h"
#include "model/cluster_adapter.h"

namespace paravane::model {

// An etcd that the operator provides.
struct ExternalEtcd {
  std::vector<std::string> urls;  // https://ADDRESS:PORT, of each of its members
  std::string authority;          // the CA of its certificate (PEM)
  std::string user;               // the user with all rights
  std::string password;
};

struct ClusterInit {
  std::string host;                    // empty: the machine's name
  std::optional<ExternalEtcd> etcd{};  // nullopt: one is started
};

inline constexpr std::uint32_t kMaxTokenSeconds = 24 * 3600;

struct TokenRequest {
  std::string host;
  std::uint32_t valid_s = 15 * 60;
};

struct JoinToken {
  std::string token;
  std::string host;
  std::uint32_t valid_s = 0;
};

struct ClusterHost {
  std::string name;
  bool present = false;  // false: it is away, or was never there
  std::string address;
  std::uint32_t port = 0;  // of its channel
  std::string version;
  std::uint64_t adapters = 0;
  std::uint64_t gids = 0;
  std::string channel{};     // "encrypted", "sealed", "none"; empty: this host, or not known
  ChannelProblem problem{};  // why `channel` is "none"
  // True: the host joined before members' keys were recorded, so any machine that ever had its name
  // could impersonate it.
  bool by_name = false;
  std::uint64_t generation = 0;  // of the configuration that it says that it follows
  bool ahead = false;            // this host's configuration did not develop from that one
};

struct ClusterStatus {
  // Which file of the cluster cannot be used, and why; empty: all can. If `member` is false, the
  // damage keeps this host out of its cluster; if true, it keeps the authority from working.
  std::string damage{};
  std::string damage_remedy{};
  bool member = false;  // false: the rest is not there
  std::string cluster{};
  std::string host{};
  std::string authority{};  // the host that has it
  std::string address{};
  bool connected = false;                // to etcd
  bool connecting = false;               // for the first time; nothing has failed yet
  std::string problem{};                 // why it is not connected
  std::uint64_t since_s = 0;             // how long it has been so
  std::uint64_t certificate_left_s = 0;  // 0 also of one that is not in force yet
  std::string certificate_problem{};     // why it is not in force; empty: it is
  std::vector<std::string> etcd{};
  std::vector<ClusterHost> hosts{};
  std::uint64_t generation = 0;     // of the configuration that this host follows; 0: not counted
  std::vector<std::string> lost{};  // claims that do not count, in words
  std::uint64_t odd_keys = 0;       // keys of others that are not as they should be
};

// A backup of the cluster (cluster/cluster_backup.h), sealed with a passphrase.
struct SealedBackup {
  std::string sealed;  // bytes
};

struct BackupRequest {
  std::string sealed;  // bytes, of a stranger's making
  std::string passphrase;
};

struct BackupSummary {
  std::string cluster;
  std::string host;          // that had the authority
  std::string address;       // its own, where the others look for it
  std::uint64_t made_s = 0;  // seconds since 1970
  std::string version;       // of the daemon that made it
  std::uint64_t generation = 0;
  std::vector<std::string> members{};
  std::uint64_t switches = 0;
  std::uint64_t port_groups = 0;
  // What this host has now, in an operator's words; empty: nothing.
  std::string replaces{};
};

// The configuration that another host says it follows.
struct FollowedGeneration {
  std::string host;
  std::optional<std::uint64_t> generation{};  // nullopt: it is not known
  bool counts = false;                        // false also of a number that no cluster comes to
  std::string problem{};                      // why it is not known, or does not count
};

// What all hosts would follow after accept_inventory(), and what the others follow now.
struct AcceptSummary {
  std::string cluster;
  std::string host;  // this one, which has the authority
  std::uint64_t generation = 0;
  std::vector<std::string> members{};
  std::uint64_t switches = 0;
  std::uint64_t port_groups = 0;
  std::vector<FollowedGeneration> others{};  // all members but this host
};

class ClusterManagement {
 public:
  virtual ~ClusterManagement() = default;

  // Creates a cluster with this host as the only member and as the authority. Errors: kExists (this
  // host is in a cluster), kInvalidRequest, kClusterAway (no etcd), kStore.
  virtual ApiResult<ClusterStatus> init_cluster(const ClusterInit& init) = 0;

  // Errors: kNotFound (this host is not in a cluster), kDenied (another host is the authority),
  // kExists (the host is a member), kLimitReached, kStore.
  virtual ApiResult<JoinToken> make_token(const TokenRequest& request) = 0;

  // Errors: kExists, kInvalidRequest (not a token), kDenied (refused by the authority),
  // kClusterAway, kStore.
  virtual ApiResult<ClusterStatus> join_cluster(const std::string& token) = 0;

  // `force`: leave even if the authority does not answer, or if this host is the authority. Errors:
  // kNotFound, kClusterAway, kDenied, kStore.
  virtual ApiResult<void> leave_cluster(bool force) = 0;

  // Removes a host that cannot leave the cluster itself. Errors: kNotFound, kDenied, kClusterAway,
  // kInvalidRequest (this host), kStore.
  virtual ApiResult<void> remove_host(const std::string& host) = 0;

  // Returns what accept_inventory() would do, after querying the other hosts. Changes nothing.
  // Errors: kNotFound, kDenied, kBusy.
  virtual ApiResult<AcceptSummary> inspect_accept() = 0;

  // Makes all hosts follow the configuration that this host, the authority, has stored, even if
  // they have seen a newer one. It is for a configuration that was deliberately restored from an
  // older copy. Errors: kNotFound, kDenied, kBusy, kClusterAway, kStore.
  virtual ApiResult<ClusterStatus> accept_inventory() = 0;

  // Possible only on the authority's host. Errors: kNotFound, kDenied, kInvalidRequest (the
  // passphrase), kTooLarge, kStore.
  virtual ApiResult<SealedBackup> back_up_cluster(const std::string& passphrase) = 0;

  // Returns what a backup contains. Changes nothing. Errors: kInvalidRequest (not a backup, or a
  // wrong passphrase).
  virtual ApiResult<BackupSummary> inspect_backup(const BackupRequest& asked) = 0;

  // Makes this machine the host from which the backup was made, with the authority. Errors:
  // kInvalidRequest (also: the address differs), kExists (this machine is another host, or in
  // another cluster), kDenied (another host was promoted since), kClusterAway, kStore.
  virtual ApiResult<ClusterStatus> restore_cluster(const BackupRequest& asked) = 0;

  // Makes this host, a member, the authority, and removes the former authority's host from the
  // cluster. Errors: kInvalidRequest, kNotFound, kDenied (the former authority still answers),
  // kClusterAway, kStore.
  virtual ApiResult<ClusterStatus> promote_host(const BackupRequest& asked) = 0;

  virtual ApiResult<ClusterStatus> cluster_status() = 0;

  // Returns the adapters of all hosts, as last known, in the order of hosts, VMs and numbers.
  // Errors: kNotFound (this host is not in a cluster).
  virtual ApiResult<std::vector<ClusterAdapter>> cluster_adapters() = 0;
};

}  // namespace paravane::model
