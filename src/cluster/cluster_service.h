// ClusterService: this host as a member of a cluster. It handles the operator's requests, this
// host's certificate and its keys in the inventory, and on one host the authority. All of this runs
// in one thread of its own, because it waits for etcd and for other hosts. Only the API's threads
// wait for this thread, for a bounded time.
//
// Without a cluster it does nothing.

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
    // What the cluster looks like now; null: there is none any more.
    std::function<void(std::shared_ptr<const inventory::View>)> view;
    // A claim of this host that does not count: once, as long as it is so.
    std::function<void(const inventory::LostClaim&)> lost;
    // Whether the inventory can be reached has changed, or why not.
    std::function<void(const inventory::MemberState&)> state;
    // There is a new certificate in ClusterPaths::identity(). Connections that are there
    // need not end.
    std::function<void()> identity;
    // Files of the cluster cannot be used, for this reason, or (empty) can again. At the
    // start on its thread.
    std::function<void(const std::string&)> files;
  };

  // `dialer` outlives the service. `run_etcd` tells the keeper.
  ClusterService(const settings::Config& config, privsep::Dialer& dialer,
                 std::function<void(privsep::EtcdReach)> run_etcd, Listeners listeners = {});
  ~ClusterService() override;
  ClusterService(const ClusterService&) = delete;
  ClusterService& operator=(const ClusterService&) = delete;

  // REQUIRES: the state directory is ours. Damaged files keep this host out of its cluster, or
  // the authority from its work, until they are whole again: left_out() says so.
  void start();
  // Ends the thread; requests that come later are refused. REQUIRES: dialer.close().
  void stop();

  // ---- any thread, at once ----
  // Null: no cluster, or nothing is known of it yet.
  std::shared_ptr<const inventory::View> view() const;
  // nullopt: no cluster.
  std::optional<authority::Identity> self() const;
  // What this host is called in a cluster, also in one whose files are damaged; empty: in none.
  std::string host_name() const;
  // Which file is damaged.
  std::optional<model::LeftOut> left_out() const;
  // Whether what others must know of may be changed now. Errors: kClusterAway, kStore (damaged
  // files).
  model::ApiResult<void> check_change() const;
  // As check_change(), of a document. Errors: also kDenied (another host writes them).
  model::ApiResult<void> check_document_change() const;
  // All hosts that may be in it; empty where nobody knows: without the authority.
  std::set<std::string> members() const;
  // Who else in the cluster has it.
  std::optional<inventory::GidOwner> mac_owner_elsewhere(const model::MacAddress& mac) const;
  // All adapters, or all GIDs, of this host: they stand in the inventory soon.
  void set_adapters(std::map<model::AdapterName, inventory::AdapterInfo> adapters);
  void set_gids(std::map<inventory::GidId, model::AdapterName> gids);
  // Whether there is a channel to another host, and if not why.
  void set_channel(const std::string& host, const model::ChannelProblem& problem);
  // Where this host's channels are, or why there are none.
  void set_place(const model::ChannelPlace& place);
  // The switches and port groups of this host, in which it is called `host`: what it
  // brings into a cluster.
  void set_network(const std::string& host, const model::Network& network);
  // A document below config/ (a switch, a port group); nullopt takes it away. Waits; not
  // for the control thread. Errors: kNotFound (no cluster), kClusterAway, kDenied (the
  // authority's host writes it), kBusy.
  model::ApiResult<void> write_document(const std::string& name,
                                        const std::optional<std::string>& json);

  // ---- ClusterManagement: any thread but the control thread, since they wait; the last
  // one does not ----
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
  // Each of these returns when it has something to do without news.
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

  // Backups.
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

  // Files that cannot be used.
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
  // What is answered, a refusal too. Errors: kIo, kInvalidArgument (it is no answer).
  Result<authority::DoorAnswer> talk_at_door(const std::string& door, const TlsClient& client,
                                             const authority::DoorRequest& request);
  // The same, with a refusal as an error: kBadState.
  Result<authority::DoorAnswer> ask_door(const std::string& door, const TlsClient& client,
                                         const authority::DoorRequest& request);
  Status accept_authority(const ShownCertificates& shown) const;
  // `whom` nullopt: any host of this cluster.
  Status accept_host(const ShownCertificates& shown,
                     const std::optional<authority::Identity>& whom) const;

  // Another host has the authority.
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
  void publish();
  void share();  // what may have changed
  void reach_etcd(privsep::EtcdReach reach);
  void run_own_etcd(privsep::EtcdReach reach);  // also before its membership says so
  void trust_new_certificate();
  // True: etcd says what the authority's book does, or this host has none.
  bool compare_with_book();
  std::string describe_away(const std::string& cause) const;
  // What the inventory shows: followed, unless it is older than what was followed before.
  void take_view(std::shared_ptr<const inventory::View> view);
  void set_problem(std::string problem);
  void learn(std::shared_ptr<const inventory::View> view);
  void silence_next();
  void settle_members();
  void tell_kept(const Status& kept);
  // The member's, and what else is wrong with the inventory.
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

  // Of the cluster's thread.
  std::optional<Membership> membership_;
  std::unique_ptr<ClusterAuthority> authority_;
  std::unique_ptr<inventory::Member> member_;
  std::unique_ptr<JoinDoor> door_;
  std::unique_ptr<JoinDoor> old_door_;  // that is to be closed, when its thread is answered
  std::map<model::AdapterName, inventory::AdapterInfo> adapters_;
  std::map<inventory::GidId, model::AdapterName> gids_;
  model::ChannelPlace place_;
  model::Network network_;
  std::string network_host_;  // this host, in network_
  std::optional<MemberCertificate> certificate_;
  Instant next_door_{};                 // try to open it
  Instant next_look_at_files_{};        // that are damaged
  std::deque<std::string> to_silence_;  // hosts that have said too much, whatever they say now
  Instant next_silencing_{};
  bool wants_settling_ = false;  // the members' keys, in the book and in etcd
  Instant next_settling_{};
  NewsLog not_settled_;
  NewsLog no_door_;
  LimitedLog said_too_much_;
  LimitedLog curbings_;  // apart: the line above comes each second while a host floods
  LimitedLog lost_claims_;
  LimitedLog comings_and_goings_{std::chrono::seconds(10), 6};
  std::set<std::string> away_;  // reasons that were logged
  bool says_too_much_ = false;
  std::optional<KeptInventory> kept_;
  std::shared_ptr<const inventory::View> kept_view_;  // that is to be learned
  ReturningHosts returning_;
  std::string problem_;  // with the inventory, though it is reached; empty: none
  privsep::EtcdReach reach_ = privsep::EtcdReach::kOff;
  bool compared_ = false;  // the book and etcd, since etcd was lost last
  bool was_connected_ = false;
  Instant compared_at_{};
  Instant next_comparison_{};
  Duration comparison_pause_{};
  std::optional<authority::Succession> succession_;  // the newest that is known
  bool asked_others_ = false;
  Instant next_seek_{};
  Duration seek_pause_{};
  std::size_t seek_from_ = 0;    // of the others' doors
  std::string succession_read_;  // in the inventory, as it was looked at last
  bool is_told_ = false;         // the host that had the authority before
  Instant next_asking_{};        // with the authority: whether another has it
  Instant next_telling_{};
  Duration tell_pause_{};
  Instant next_login_{};
  Duration login_pause_{};
  inventory::HostWrites writes_;                // of all hosts; known on the authority's alone
  std::map<std::string, Instant> forgiven_at_;  // of hosts that write no more
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
