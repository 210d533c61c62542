// Member: one host's part in the cluster. It keeps this host's own keys in etcd, on a lease, and
// maintains the View of all hosts' keys, by a watch.
//
// While etcd is unavailable, the last known state stays in force. When etcd is back, the lease was
// lost, or the watch fell behind (compaction), everything is read again and this host's keys are
// written again: nothing is lost. A key that stays keeps its age, so the first claim stays the
// first; a claim whose lease expired has lost its position.
//
// Owner thread only, which must be one that may block: step() sends requests to etcd and waits for
// the responses, each for at most EtcdClient::kPatience.

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
  std::chrono::seconds lease{15};  // how long we count for others when we are gone
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
    // There is another View.
    std::function<void(std::shared_ptr<const View>)> changed;
    std::function<void(const MemberState&)> state;
    // A key was written or taken away, and takes so many bytes in etcd.
    std::function<void(const std::string& key, std::size_t bytes)> written = {};
    // Once for each claim of this host that does not count, as long as it is so.
    std::function<void(const LostClaim&)> lost;
  };

  // `open`: how sockets come to be; empty: plainly.
  Member(MemberConfig config, OpenSocket open, Events events, Instant now);
  // Nothing is taken back: what stands in etcd ends with the lease.
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  // Another password of this host's user, for the next login.
  void set_password(std::string password);

  // All that this host says of itself: keys below its prefix, with their values. It
  // stands in etcd soon.
  void set_own(std::map<std::string, std::string> own);

  // A document of the configuration, at once. nullopt: takes it away.
  // Errors: kIo (etcd is away), kBadState (another host writes it).
  Status write_document(const std::string& name, const std::optional<std::string>& json);
  // Several, by their names, in this order: at once, or where they are more than etcd takes
  // so (EtcdClient::kMaxWrites), in as few steps. Errors: as above; the rest is not written.
  Status write_documents(std::vector<Write> documents);

  // Does what is due. Returns when there is something to do without news.
  Instant step(Instant now);
  // Until there is news of etcd, `wake_fd` is readable, or `timeout` is over.
  void wait(std::chrono::milliseconds timeout, int wake_fd) { watch_.wait(timeout, wake_fd); }

  // At once, and for good: what this host says of itself is gone.
  Status leave();

  const MemberState& state() const { return state_; }
  // What the View was made of that was shown last, or of news since.
  const Records& records() const { return records_; }

 private:
  Status connect(Instant now);
  Status read_all();
  Status read_again(Instant now);
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
  std::map<std::string, std::string> own_;
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
