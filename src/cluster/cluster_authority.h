// ClusterAuthority: the operations that only the cluster's authority can perform. The authority is
// the host that creates join tokens, admits and removes hosts, and signs certificates. Its records
// are stored in the file authority.json, beside its key. The code calls this file the book.
//
// The authority gives each change to the cluster's configuration a number, the generation
// (inventory/generation.h). It writes the number first to its book and then to etcd. If etcd
// contains a lower number than the book, etcd was restored to an older state, and the authority
// writes the newer configuration to etcd again.
//
// A member is identified by its keys and not by its name. A machine that was removed therefore
// stays removed, even if another machine joins under its name later.
//
// Cluster thread only. Its functions send requests to etcd and wait for the responses.

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
    std::uint64_t lifetime_s = 0;  // of the certificates that it signs
    std::string address;           // of this host
    // Writes documents below config/ in etcd with this host's own rights. See
    // inventory::Member::write_documents().
    std::function<Status(std::vector<inventory::Write>)> write_documents{};
  };

  // Writes the files of a new authority, including this host's certificate.
  static Status make(const Config& config, const EtcdRoot& root, authority::Seconds now);
  // Writes the files of an authority that already has keys, and a certificate for this host. The
  // certificate is for the key in `own` (PEM). If `own` is empty, it is for a new key, and the key
  // in the book stays valid until the new one is seen in use. Errors: kIo, kInvalidArgument (no
  // keys).
  static Status write(const Config& config, const authority::KeyPair& keys, AuthorityBook book,
                      authority::Seconds now, std::string_view own = {});
  // Errors: kIo, kInvalidArgument (damaged).
  static Result<std::unique_ptr<ClusterAuthority>> load(Config config);

  // Errors: kExists (that host is a member), kLimitReached (hosts, or tokens), kStore.
  model::ApiResult<std::string> make_token(const std::string& host, authority::Seconds until,
                                           authority::Seconds now);

  // Never fails; a request that cannot be granted gets a response with the reason. `peer`: the
  // requesting host, as its certificate identifies it.
  authority::DoorAnswer answer(const std::optional<authority::Peer>& peer,
                               const authority::DoorRequest& request, authority::Seconds now);

  // Errors: kNotFound, kIo and others of EtcdClient's.
  Status remove(const std::string& host);
  // Deletes all keys that a host has written about itself. The host may write them again. Errors:
  // those of EtcdClient.
  Status silence(const std::string& host);
  // Forbids a host to write, because it writes more than etcd has room for. The ban survives
  // restarts and ends with forgive(). Errors: those of EtcdClient, kIo.
  Status curb(const std::string& host);
  Status forgive(const std::string& host);
  const std::set<std::string>& curbed() const { return book_.curbed; }
  // Deletes the history of all keys before this revision. Errors: those of EtcdClient.
  Status compact(std::int64_t revision);
  // Frees space if etcd's file has grown too large, or if its space is used up and no host can
  // write. True: that was necessary. Errors: those of EtcdClient; call it again later.
  Result<bool> make_room();
  // Deletes everything that the cluster has stored in an etcd that continues to exist. Errors:
  // those of EtcdClient.
  Status clear();
  // Renews the certificate of this host in the same way as those of other hosts. `valid`: the
  // validity of its present certificate, which has the key `shown`. Errors: kIo (etcd cannot be
  // reached, and the present certificate is valid long enough).
  Result<std::string> renew_own(const std::string& shown, const authority::Validity& valid,
                                const std::string& request, authority::Seconds now);

  // Writes documents below config/ in etcd as the next generation, with this host's own rights.
  // Errors: those of Config::write_documents(), kIo.
  Status write_documents(std::vector<inventory::Write> documents);

  // Compares the book and `network`, the switches and port groups stored on this host, with etcd.
  // If etcd is older, empty or without users, this writes the book's content to it. If the book is
  // older than etcd, the book takes the members from etcd. Errors: kBadState (neither is a later
  // state of the other), those of EtcdClient; call it again later.
  Status compare(const model::Network& network);
  // Carries out an operator's decision that all hosts must follow this book and `network`, whatever
  // they have followed before. `newest_elsewhere`: the newest generation that another host follows.
  // Errors: those of EtcdClient, kIo.
  Status accept(const model::Network& network, std::uint64_t newest_elsewhere);
  // The generation of the book.
  std::uint64_t generation() const { return book_.generation.number; }

  // Compares the book with etcd. It records which keys the members use, and corrects the documents
  // in etcd that differ from the book (member_documents.h). Errors: kIo and others; call it again
  // later.
  Status settle(const inventory::View& view);

  // All members except this host.
  std::set<std::string> others() const;

 private:
  explicit ClusterAuthority(Config config) : config_(std::move(config)) {}
  Status save(const authority::MemberBook& members) const;
  // Stores the list of members, and writes its entry for `host` to etcd.
  Status change(authority::MemberBook members, const std::string& host);
  Status publish(const std::string& host);
  const std::string& self() const { return config_.membership.self.host; }
  static Result<std::string> make_mark();
  // Stores the next generation in the book, and adds the document with its number to `writes`.
  Status count(std::vector<inventory::Write>& writes);
  // Writes documents below config/.
  Status write_as_root(inventory::EtcdClient& root, std::vector<inventory::Write> documents);
  Status adopt(const inventory::View& seen);
  Status close_own_etcd(const inventory::EtcdAccess& root_access);
  Status settle_users(inventory::EtcdClient& root, bool came_back, bool is_promoted);
  // Whether the cluster has as many members as readers of the inventory accept.
  bool is_full() const { return book_.members.members().size() >= inventory::View::kMaxHosts; }
  Status read_own_key();
  // Whether this host was promoted, and has the proof with the authority's signature.
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
  std::map<std::string, authority::Seconds> logins_;  // the last login of each member
  LimitedLog refused_joins_;
  LimitedLog refused_keys_;
  LimitedLog news_of_hosts_{std::chrono::seconds(10), 20};
  LimitedLog etcd_differs_;
  LimitedLog room_{std::chrono::minutes(10), 6};
};

// The access to etcd with this host's own etcd user.
inventory::EtcdAccess etcd_access(const settings::ClusterPaths& paths,
                                  const Membership& membership);

}  // namespace paravane::cluster
