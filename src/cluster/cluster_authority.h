// ClusterAuthority: the operations that only the authority's host can perform: it creates join
// tokens, admits and removes hosts, and signs certificates. Its records (the book, authority.json)
// are stored beside its key.
//
// It counts the changes of the configuration (inventory/generation.h), in its book before in etcd.
// An etcd with a lower count was therefore restored to an older state, and the book is written to
// it.
//
// A member is identified by the key with which it joined and the keys from later renewals, not by
// its name: a removed machine stays removed when another machine joins with its name.
//
// Cluster thread. It sends requests to etcd and waits for the responses.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "authority/certificate.h"
#include "authority/door_message.h"
#include "base/limited_log.h"
#include "cluster/authority_book.h"
#include "cluster/cluster_files.h"
#include "inventory/etcd_client.h"
#include "inventory/view.h"
#include "model/api_error.h"
#include "model/distributed_switch.h"

namespace paravane::cluster {

class ClusterAuthority {
 public:
  struct Config {
    settings::ClusterPaths paths;
    Membership membership;
    inventory::OpenSocket open;
    std::uint64_t lifetime_s = 0;  // of what it signs
    std::string address;           // of this host
    // Writes documents below config/ in etcd, with this host's own rights, as
    // inventory::Member::write_documents() does.
    std::function<Status(std::vector<inventory::Write>)> write_documents{};
  };

  // Writes the files of a new one, this host's certificate among them.
  static Status make(const Config& config, const EtcdRoot& root, authority::Seconds now);
  // Writes the files of one that has these keys, whose host gets a certificate of its own, for
  // the key in `own` (PEM), or for a new one where that is empty: then the one that the book has
  // stays good until the new one is seen in use. Errors: kIo, kInvalidArgument (no keys).
  static Status write(const Config& config, const authority::KeyPair& keys, AuthorityBook book,
                      authority::Seconds now, std::string_view own = {});
  // Errors: kIo, kInvalidArgument (damaged).
  static Result<std::unique_ptr<ClusterAuthority>> load(Config config);

  // Errors: kExists (that host is a member), kLimitReached (hosts, or tokens), kStore.
  model::ApiResult<std::string> make_token(const std::string& host, authority::Seconds until,
                                           authority::Seconds now);

  // Never fails: what cannot be done is an answer. `peer`: who asks, by its certificate.
  authority::DoorAnswer answer(const std::optional<authority::Peer>& peer,
                               const authority::DoorRequest& request, authority::Seconds now);

  // Errors: kNotFound, kIo and others of EtcdClient's.
  Status remove(const std::string& host);
  // What a host says of itself is gone; it may say it again. Errors: EtcdClient's.
  Status silence(const std::string& host);
  // A host that writes more than etcd has room for writes no more, until it is forgiven: a
  // restart forgives nothing. Errors: EtcdClient's, kIo.
  Status curb(const std::string& host);
  Status forgive(const std::string& host);
  const std::set<std::string>& curbed() const { return book_.curbed; }
  // What stood in keys before this revision is forgotten. Errors: EtcdClient's.
  Status compact(std::int64_t revision);
  // Where etcd's file has grown, or its space is used up, so that no host can write. True: it
  // was so. Errors: EtcdClient's; to be called again.
  Result<bool> make_room();
  // All that the cluster has in an etcd that stays. Errors: EtcdClient's.
  Status clear();
  // A new certificate for this host, over the same way as for others. `valid`: of the one
  // that it has, with the key `shown`. Errors: kIo (etcd is away, and there is time).
  Result<std::string> renew_own(const std::string& shown, const authority::Validity& valid,
                                const std::string& request, authority::Seconds now);

  // Documents below config/, of the next generation, with this host's own rights. Errors:
  // Config::write_documents()'s, kIo.
  Status write_documents(std::vector<inventory::Write> documents);

  // Compares the book, and `network`, which is what this host has kept, with etcd, which may be
  // older, empty or without users; then etcd is made to say what the book does. A book that is
  // older than etcd takes the members from there. Errors: kBadState (neither has become of the
  // other), EtcdClient's; to be called again.
  Status compare(const model::Network& network);
  // An operator's word that all hosts are to follow this book and `network`, whatever they have
  // seen. `newest_elsewhere`: the number of the newest generation that another host follows.
  // Errors: EtcdClient's, kIo.
  Status accept(const model::Network& network, std::uint64_t newest_elsewhere);
  // The number of the book's.
  std::uint64_t generation() const { return book_.generation.number; }

  // Compares the book with what stands in etcd: notes which keys members are seen to use,
  // and has etcd say what the book does (member_documents.h). Errors: kIo and others; to be
  // called again.
  Status settle(const inventory::View& view);

  // Those that are in, but for this one.
  std::set<std::string> others() const;

 private:
  explicit ClusterAuthority(Config config) : config_(std::move(config)) {}
  Status save(const authority::MemberBook& members) const;
  // Keeps it and has etcd say what it says of the host.
  Status change(authority::MemberBook members, const std::string& host);
  Status publish(const std::string& host);
  const std::string& self() const { return config_.membership.self.host; }
  static Result<std::string> make_mark();
  // The next generation, kept, and the document that says so added to `writes`.
  Status count(std::vector<inventory::Write>& writes);
  // Below config/.
  Status write_as_root(inventory::EtcdClient& root, std::vector<inventory::Write> documents);
  Status adopt(const inventory::View& seen);
  Status close_own_etcd(const inventory::EtcdAccess& root_access);
  Status settle_users(inventory::EtcdClient& root, bool came_back, bool is_promoted);
  // As many hosts are in it as readers of the inventory take.
  bool is_full() const { return book_.members.members().size() >= inventory::View::kMaxHosts; }
  Status read_own_key();
  // Whether this host was promoted, with the authority's signature.
  bool has_succeeded() const;
  std::optional<inventory::Write> succession_write(const inventory::View& view) const;
  authority::DoorAnswer join(const authority::DoorRequest& request, authority::Seconds now);
  authority::DoorAnswer compare_host(const authority::DoorRequest& request, authority::Seconds now);
  authority::DoorAnswer renew(const authority::Peer& peer, const std::string& request,
                              authority::Seconds now);
  authority::DoorAnswer sign(const std::string& request, const std::string& host,
                             authority::Seconds now) const;
  authority::DoorAnswer dismiss(const std::string& host);
  authority::DoorAnswer log_in(const std::string& host, authority::Seconds now);
  inventory::EtcdAccess root_access() const;

  Config config_;
  authority::KeyPair keys_;
  std::string fingerprint_;
  AuthorityBook book_;
  std::map<std::string, authority::Seconds> logins_;  // of members, the last of each
  LimitedLog refused_joins_;
  LimitedLog refused_keys_;
  LimitedLog news_of_hosts_{std::chrono::seconds(10), 20};
  LimitedLog etcd_differs_;
  LimitedLog room_{std::chrono::minutes(10), 6};
};

// How etcd is reached by this host's own user.
inventory::EtcdAccess etcd_access(const settings::ClusterPaths& paths,
                                  const Membership& membership);

}  // namespace paravane::cluster
