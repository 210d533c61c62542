// Member keeps this host in the cluster. It writes this host's keys to etcd with a lease, so that
// etcd deletes the keys if this host fails. It also watches the keys of all hosts and builds the
// cluster's View from them. The View is a snapshot that other code reads.
//
// While etcd is unavailable, the last known View stays in force. When etcd is available again, or
// the lease was lost, or the watch fell behind (compaction), Member reads all keys again and writes
// this host's keys again. A key that still exists keeps its age. If the lease of a key has expired,
// the key is created again and loses its age. The age matters for claims, the keys with which hosts
// reserve MAC addresses and GIDs, because the oldest claim is valid.
//
// Owner thread only. step() blocks: it sends requests to etcd and waits for each response, for at
// most EtcdClient::kPatience.

#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "inventory/etcd_client.h"
#include "inventory/etcd_watch.h"
#include "inventory/view.h"

namespace paravane::inventory {

struct MemberConfig {
  std::string host;  // our name
  EtcdAccess access;
  std::chrono::seconds lease{15};  // how long our keys stay in etcd after this host fails
};

struct MemberState {
  bool connected = false;
  bool connecting = false;    // for the first time; nothing has failed yet
  std::string problem;        // why not; empty while connected
  Instant since;              // of that
  std::int64_t revision = 0;  // of etcd, that the view shows
  std::uint64_t rounds = 0;   // how often everything was read
  std::uint64_t lost_leases = 0;
  bool login_refused = false;  // while it is not connected: etcd does not know our password
};

class Member {
 public:
  struct Events {
    // The View has changed.
    std::function<void(std::shared_ptr<const View>)> changed;
    std::function<void(const MemberState&)> state;
    // A key was written or deleted, which uses `bytes` of etcd's space.
    std::function<void(const std::string& key, std::size_t bytes)> written = {};
    // Called when a claim of this host becomes invalid; again only after it was valid in between.
    std::function<void(const LostClaim&)> lost;
  };

  // `open` creates the sockets; empty: libcurl creates them.
  Member(MemberConfig config, OpenSocket open, Events events, Instant now);
  // Deletes nothing: this host's keys in etcd disappear when the lease expires.
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  // Sets the password of this host's etcd user, for the next login.
  void set_password(std::string password);

  // Sets all that this host publishes: the keys below its prefix, with their values. step() writes
  // them to etcd. Until the first call, keys that an earlier process of this host has left stay.
  void set_own(std::map<std::string, std::string> own);

  // Writes a document of the configuration immediately. nullopt: deletes it. Errors: kIo (etcd is
  // unavailable), kBadState (only another host may write it).
  Status write_document(const std::string& name, const std::optional<std::string>& json);
  // Writes several documents, in this order. They are written in one transaction or, above
  // EtcdClient::kMaxWrites, in as few as possible. Errors: as above; later documents are not
  // written.
  Status write_documents(std::vector<Write> documents);

  // Does what is due. Returns the time of the next call that is needed even if nothing arrives.
  Instant step(Instant now);
  // Waits until etcd has sent a message, `wake_fd` is readable, or `timeout` has passed.
  void wait(std::chrono::milliseconds timeout, int wake_fd) { watch_.wait(timeout, wake_fd); }

  // Deletes this host's keys from etcd immediately, because it leaves the cluster.
  Status leave();

  const MemberState& state() const { return state_; }
  // The records from which the last View was built, with the changes since then.
  const Records& records() const { return records_; }

 private:
  Status connect(Instant now);
  Status read_all();
  Status read_again(Instant now);
  // The keys that etcd should have below this host's prefix.
  const std::map<std::string, std::string>& wanted() const { return own_ ? *own_ : written_; }
  Status write_own(bool all);
  Status keep_alive(Instant now);
  Status hear(Instant now);
  void apply(const WatchAnswer& answer, Instant now);
  void show(Instant now);
  void tell_lost(const View& view);
  void fall_back(Instant now, const Error& error);

  MemberConfig config_;
  OpenSocket open_;
  Events events_;
  EtcdClient client_;
  EtcdWatch watch_;
  Records records_;
  std::optional<std::map<std::string, std::string>> own_;  // empty: set_own() was not called yet
  std::map<std::string, std::string> written_;  // as far as we know, what stands in etcd of ours
  bool own_changed_ = false;
  bool view_changed_ = false;
  std::int64_t lease_ = 0;
  std::int64_t revision_ = 0;
  Instant next_try_{};
  Instant next_beat_{};
  Instant lease_end_{};
  Instant next_write_{};
  Instant next_show_{};
  Instant next_reading_{};
  Duration pause_{};
  std::set<LostClaim> told_;
  MemberState state_;
};

}  // namespace paravane::inventory
