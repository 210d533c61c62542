// ClusterService: everything that this host does as a member of a cluster. It executes the
// operator's requests, renews this host's certificate, and maintains this host's keys in the
// inventory, which is the data that the hosts share in etcd. On one host it also runs the
// authority, which signs certificates and admits members.
//
// The service runs in a separate thread, the cluster thread, because it waits for etcd and for
// other hosts. Only the threads of the API wait for the cluster thread, and only for a bounded
// time.
//
// On a host that is not in a cluster, the service is idle.

#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "authority/succession.h"
#include "base/limited_log.h"
#include "base/mailbox.h"
#include "base/mutex.h"
#include "base/news_log.h"
#include "cluster/cluster_authority.h"
#include "cluster/cluster_backup.h"
#include "cluster/cluster_files.h"
#include "cluster/cluster_picture.h"
#include "cluster/door_round.h"
#include "cluster/join_door.h"
#include "cluster/kept_inventory.h"
#include "cluster/member_certificate.h"
#include "cluster/returning_hosts.h"
#include "inventory/host_writes.h"
#include "inventory/member.h"
#include "inventory/own_keys.h"
#include "model/cluster.h"
#include "model/left_out.h"
#include "model/vmkernel.h"
#include "privsep/dialer.h"
#include "privsep/etcd_reach.h"
#include "settings/config.h"

namespace paravane::cluster {

class ClusterService final : public model::ClusterManagement {
 public:
  // Called on the cluster's thread; they must not wait. Each may be empty.
  struct Listeners {
    // The current state of the cluster; null: this host is not in a cluster any more.
    std::function<void(std::shared_ptr<const inventory::View>)> view;
    // This host is in a cluster from now on, whose state it does not know yet. During start(), this
    // is called on the thread that calls start().
    std::function<void()> entered;
    // A claim, with which this host reserves a MAC address or GID, is not valid. Called once for
    // each such claim.
    std::function<void(const inventory::LostClaim&)> lost;
    // The inventory has become reachable or unreachable, or the reason has changed.
    std::function<void(const inventory::MemberState&)> state;
    // ClusterPaths::identity() contains a new certificate. Existing connections may stay open.
    std::function<void()> identity;
    // Files of the cluster cannot be used, for the given reason; empty: they can be used again.
    // During start(), this is called on the thread that calls start().
    std::function<void(const std::string&)> files;
  };

  // `dialer` outlives the service. `run_etcd` tells the privileged process whether to run etcd.
  ClusterService(const settings::Config& config, privsep::Dialer& dialer,
                 std::function<void(privsep::EtcdReach)> run_etcd, Listeners listeners = {});
  ~ClusterService() override;
  ClusterService(const ClusterService&) = delete;
  ClusterService& operator=(const ClusterService&) = delete;

  // With damaged files, this host cannot take part in its cluster, or the authority cannot work,
  // until the files are repaired; left_out() reports them. REQUIRES: this process owns the state
  // directory.
  void start();
  // Ends the thread; requests that come later are refused. REQUIRES: dialer.close().
  void stop();

  // ---- Any thread; these do not wait, but where it is said ----
  // Null: this host is not in a cluster, or has not read the inventory yet.
  std::shared_ptr<const inventory::View> view() const;
  // What is known of members that were away already at the start: their adapters and GIDs, without
  // what they say of themselves. Null: nothing.
  std::shared_ptr<const inventory::View> away_at_start() const;
  // nullopt: this host is not in a cluster.
  std::optional<authority::Identity> self() const;
  // This host's name in its cluster, even if the files of the cluster are damaged; empty: this host
  // is not in a cluster.
  std::string host_name() const;
  // The file that is damaged.
  std::optional<model::LeftOut> left_out() const;
  // Whether configuration that other hosts must know may be changed now. Errors: kClusterAway,
  // kStore (damaged files).
  model::ApiResult<void> check_change() const;
  // The same for a document below config/ in etcd. Errors: also kDenied (only another host may
  // write documents).
  model::ApiResult<void> check_document_change() const;
  // All hosts that may be members; empty on hosts without the authority, which do not know them.
  std::set<std::string> members() const;
  // The other host and adapter in the cluster that have this MAC address.
  std::optional<inventory::GidOwner> mac_owner_elsewhere(const model::MacAddress& mac) const;
  // Sets all adapters, or all GIDs, of this host. They appear in the inventory soon afterwards.
  // `unlinked`: the GIDs of adapters whose link is down; they are not in `gids`.
  void set_adapters(std::map<model::AdapterName, inventory::AdapterInfo> adapters);
  void set_gids(inventory::AdapterGids gids, inventory::AdapterGids unlinked);
  // Sets whether there is a channel to another host, and if not, the reason.
  void set_channel(const std::string& host, const model::ChannelProblem& problem);
  // Sets where this host listens for channels, or the reason why it has no channels.
  void set_place(const model::ChannelPlace& place);
  // Whether this host has an InfiniBand adapter, so that others may have cables to it.
  void set_infiniband(bool has_adapters);
  // Saves what is known of the inventory now, for the engine that takes over, which begins with it.
  // Waits for at most `limit` for the service's thread; false: it was not saved, and what was saved
  // last is up to KeptInventory::kEvery old.
  bool save_inventory(std::chrono::milliseconds limit);
  // Sets the switches and port groups of this host, which it brings into a cluster when it joins.
  // They refer to this host as `host`.
  void set_network(const std::string& host, const model::Network& network);
  // Writes a document below config/ in etcd, which describes a switch or a port group; nullopt
  // deletes it. It waits, so the control thread must not call it. Errors: kNotFound (no cluster),
  // kClusterAway, kDenied (only the authority's host may write documents), kBusy.
  model::ApiResult<void> write_document(const std::string& name,
                                        const std::optional<std::string>& json);

  // ---- ClusterManagement: any thread except the control thread, since all but the last wait ----
  model::ApiResult<model::ClusterStatus> init_cluster(const model::ClusterInit& init) override;
  model::ApiResult<model::JoinToken> make_token(const model::TokenRequest& request) override;
  model::ApiResult<model::ClusterStatus> join_cluster(const std::string& token) override;
  model::ApiResult<void> leave_cluster(bool force) override;
  model::ApiResult<void> remove_host(const std::string& host) override;
  model::ApiResult<model::AcceptSummary> inspect_accept() override;
  model::ApiResult<model::ClusterStatus> accept_inventory() override;
  model::ApiResult<model::SealedBackup> back_up_cluster(const std::string& passphrase) override;
  model::ApiResult<model::BackupSummary> inspect_backup(const model::BackupRequest& asked) override;
  model::ApiResult<model::ClusterStatus> restore_cluster(
      const model::BackupRequest& asked) override;
  model::ApiResult<model::ClusterStatus> promote_host(const model::BackupRequest& asked) override;
  model::ApiResult<model::ClusterStatus> cluster_status() override;
  model::ApiResult<std::vector<model::ClusterAdapter>> cluster_adapters() override;

 private:
  template <typename Function>
  std::invoke_result_t<Function> carry(Function function);
  void run();
  // Each of these returns the time at which it must be called again if nothing else happens.
  Instant use_inventory();
  Instant watch_etcd();
  Instant ask_for_password();
  Instant keep_inventory();
  Instant await_returning();
  Instant keep_room();
  void tell_no_room(const Status& done);
  void wait(Instant until);

  std::string own_etcd_url() const;
  model::ApiResult<void> check_address() const;
  void await_inventory();
  model::ApiResult<model::ClusterStatus> do_init(const model::ClusterInit& init);
  model::ApiResult<void> found(const model::ClusterInit& init, Membership& membership);
  model::ApiResult<void> prepare_etcd(const inventory::EtcdAccess& root_access,
                                      const Membership& membership);
  Result<bool> start_etcd(inventory::EtcdClient& anybody, privsep::EtcdReach reach);
  model::ApiResult<void> clear_etcd();
  model::ApiResult<model::ClusterStatus> do_join(const std::string& text);
  model::ApiResult<void> compare_at_door(const authority::Token& token);
  model::ApiResult<authority::DoorAnswer> ask_to_join(const authority::Token& token,
                                                      const std::string& request);
  model::ApiResult<void> do_leave(bool force);
  model::ApiResult<void> say_goodbye();
  model::ApiResult<model::JoinToken> do_token(const model::TokenRequest& request);
  model::ApiResult<void> do_remove(const std::string& host);
  model::ApiResult<model::AcceptSummary> weigh_accept();
  model::ApiResult<model::ClusterStatus> do_accept();
  model::ApiResult<void> need_authority() const;

  // ---- Backups ----
  model::ApiResult<model::SealedBackup> do_backup(const std::string& passphrase);
  model::ApiResult<ClusterBackup> open_backup(const model::BackupRequest& asked) const;
  model::BackupSummary summarize(const ClusterBackup& backup) const;
  model::ApiResult<model::ClusterStatus> do_restore(const model::BackupRequest& asked);
  model::ApiResult<void> check_restore(const ClusterBackup& backup);
  model::ApiResult<model::ClusterStatus> do_promote(const model::BackupRequest& asked);
  model::ApiResult<void> check_promotion(const ClusterBackup& backup);
  model::ApiResult<void> check_others(const HostDoor& last);
  model::ApiResult<void> take_authority(const ClusterBackup& backup, const Membership& membership,
                                        AuthorityBook book, const std::string& succession);
  model::ApiResult<void> write_promotion(const ClusterBackup& backup, const Membership& membership,
                                         AuthorityBook book, const std::string& succession);
  Status write_backup_files(const ClusterBackup& backup, const Membership& membership,
                            AuthorityBook book, std::string_view own_key = {});
  AuthorityBook book_of_promoted(const ClusterBackup& backup, const Membership& membership) const;
  model::Network network_as(const std::string& host) const;
  std::optional<model::Network> known_network() const;
  model::ApiResult<void> bring_network(inventory::EtcdClient& etcd, const std::string& host) const;
  model::ApiResult<void> check_network(const Membership& membership);

  // ---- Files that cannot be used ----
  static constexpr auto kFilesAgain = std::chrono::seconds(2);
  void look_at_files();
  void look_at_authority();
  void note_damage(const std::string& what, const std::string& remedy = {});
  void note_whole();
  model::ApiResult<void> check_whole() const;
  model::ApiResult<void> check_no_files() const;

  Status enter(Membership membership);
  void forget();
  bool wants_door() const;
  void open_door();
  std::string answer_at_door(const std::optional<authority::Peer>& peer, const std::string& line);
  Result<std::string> sign(const std::string& request);
  // Sends a request to a join endpoint and returns the response, even if it refuses the request.
  // Errors: kIo, kInvalidArgument (not a valid response).
  Result<authority::DoorAnswer> talk_at_door(const std::string& door, const TlsClient& client,
                                             const authority::DoorRequest& request);
  // The same, but a refusal is the error kBadState.
  Result<authority::DoorAnswer> ask_door(const std::string& door, const TlsClient& client,
                                         const authority::DoorRequest& request);
  Status accept_authority(const ShownCertificates& shown) const;
  // `whom`: the expected host; nullopt: any host of this cluster.
  Status accept_host(const ShownCertificates& shown,
                     const std::optional<authority::Identity>& whom) const;

  // ---- Another host may have become the authority ----
  std::optional<authority::Succession> load_succession();
  std::optional<authority::Succession> read_succession(const std::string& text) const;
  void follow_succession(Membership& membership) const;
  bool is_succeeded(const Membership& membership) const;
  void note_succeeded();
  std::vector<HostDoor> doors_of_others() const;
  Result<authority::DoorAnswer> ask_for_authority(const HostDoor& at);
  bool ask_others(const std::vector<HostDoor>& doors);
  bool hear_answers(const std::vector<Result<authority::DoorAnswer>>& answers);
  bool take_succession(authority::Succession succession, const std::string& text);
  void step_out();
  bool was_succeeded();
  void keep_some(std::vector<HostDoor>& doors);
  Instant seek_authority();
  bool reads_of_succession();
  Instant tell_predecessor();
  std::string seen_authority() const;
  std::optional<authority::DoorAnswer> answer_of_authority() const;
  authority::DoorAnswer hear_succession(const std::string& text);
  // Those of adapters that are in the GIDs' network, and not on their way to another.
  inventory::AdapterGids in_place(const inventory::AdapterGids& gids) const;
  void publish();
  void share();  // passes on what may have changed
  void reach_etcd(privsep::EtcdReach reach);
  void run_own_etcd(privsep::EtcdReach reach);  // also before the membership says so
  void trust_new_certificate();
  // True: etcd agrees with the authority's book, or this host is not the authority.
  bool compare_with_book();
  std::string describe_away(const std::string& cause) const;
  // Follows the state of the inventory, unless it is older than the state that was followed before.
  void take_view(std::shared_ptr<const inventory::View> view);
  void set_problem(std::string problem);
  void learn(std::shared_ptr<const inventory::View> view);
  void silence_next();
  void settle_members();
  void tell_kept(const Status& kept);
  // The state of the connection to etcd, together with any other problem of the inventory.
  inventory::MemberState state() const;
  void tell_state();
  void tell_lost(const inventory::LostClaim& claim);
  ClusterAuthority::Config authority_config(const Membership& membership) const;

  const settings::Config config_;
  const settings::ClusterPaths paths_;
  privsep::Dialer& dialer_;
  std::function<void(privsep::EtcdReach)> run_etcd_;
  Listeners listeners_;
  inventory::OpenSocket open_;
  UniqueFd wake_;
  Mailbox mailbox_;
  std::atomic<bool> stopping_{false};

  // Used by the cluster thread only.
  std::optional<Membership> membership_;
  std::unique_ptr<ClusterAuthority> authority_;
  std::unique_ptr<inventory::Member> member_;
  std::unique_ptr<JoinDoor> door_;
  std::unique_ptr<JoinDoor> old_door_;  // closed when its thread has its response
  std::map<model::AdapterName, inventory::AdapterInfo> adapters_;
  inventory::AdapterGids gids_;
  inventory::AdapterGids unlinked_;
  bool has_infiniband_ = false;
  std::optional<model::ChannelPlace> place_;  // empty: the channel is still being opened
  model::Network network_;
  std::string network_host_;  // the name of this host in network_
  std::optional<MemberCertificate> certificate_;
  Instant next_door_{};                 // the next attempt to open the join endpoint
  Instant next_look_at_files_{};        // for files that are damaged
  std::deque<std::string> to_silence_;  // hosts that have said too much, whatever they say now
  Instant next_silencing_{};
  bool wants_settling_ = false;  // whether the members' keys must be compared
  Instant next_settling_{};
  NewsLog not_settled_;
  NewsLog no_door_;
  LimitedLog said_too_much_;
  LimitedLog curbings_;  // separate, because a host that floods causes the other each second
  LimitedLog lost_claims_;
  LimitedLog comings_and_goings_{std::chrono::seconds(10), 6};
  std::set<std::string> away_;  // reasons that were logged
  bool says_too_much_ = false;
  std::optional<KeptInventory> kept_;
  std::shared_ptr<const inventory::View> kept_view_;  // that must still be learned
  ReturningHosts returning_;
  std::string problem_;  // a problem of the inventory although etcd is reachable; empty: none
  privsep::EtcdReach reach_ = privsep::EtcdReach::kOff;
  bool compared_ = false;  // whether book and etcd were compared since the last disconnection
  bool was_connected_ = false;
  Instant compared_at_{};
  Instant next_comparison_{};
  Duration comparison_pause_{};
  std::optional<authority::Succession> succession_;  // the newest that is known
  bool asked_others_ = false;
  Instant next_seek_{};
  Duration seek_pause_{};
  std::size_t seek_from_ = 0;    // of the others' doors
  std::string succession_read_;  // as last read from the inventory
  bool is_told_ = false;         // whether the authority's previous host was notified
  Instant next_asking_{};        // the next time to ask whether another host was promoted
  Instant next_telling_{};
  Duration tell_pause_{};
  Instant next_login_{};
  Duration login_pause_{};
  inventory::HostWrites writes_;                // of all hosts; known only on the authority's host
  std::map<std::string, Instant> forgiven_at_;  // of hosts that were forbidden to write
  std::set<std::string> to_curb_;
  Instant next_curbing_{};
  Instant next_look_for_room_{};
  bool looks_again_ = false;
  NewsLog no_room_;
  NewsLog not_compared_;
  NewsLog not_kept_;

  mutable Mutex mutex_;
  ClusterPicture shared_ GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace paravane::cluster
