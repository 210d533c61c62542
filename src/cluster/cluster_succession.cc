// ClusterService: another host was promoted, and has the authority now. A host that is cut off
// from the inventory asks the others for it; the authority's host asks them when it starts,
// before it does anything; and the promoted one tells the host that had it before. What they say
// is signed with the authority's key.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/doubled_pause.h"
#include "base/endpoint.h"
#include "base/log.h"
#include "cluster/clock.h"
#include "cluster/cluster_refusals.h"
#include "cluster/cluster_service.h"

namespace paravane::cluster {

using authority::DoorRequest;
using authority::Succession;

namespace {

constexpr Duration kSeekFirst = std::chrono::seconds(5);  // that the inventory is away
constexpr Duration kSeekLongest = std::chrono::minutes(1);
constexpr Duration kAskEvery = std::chrono::minutes(5);
constexpr Duration kTellFirst = std::chrono::seconds(10);
constexpr Duration kTellLongest = std::chrono::minutes(1);

DoorRequest question(DoorRequest::Kind kind, std::string succession = {}) {
  return {.kind = kind,
          .token_id = {},
          .secret = {},
          .request = {},
          .succession = std::move(succession)};
}

}  // namespace

// A file that is damaged is as none: others have it too.
std::optional<Succession> ClusterService::load_succession() {
  const auto text = read_file(paths_.succession());
  const auto authority = read_file(paths_.authority());
  if (!text || !authority) return std::nullopt;
  auto succession = authority::parse_succession(*text, *authority);
  if (succession) return std::move(*succession);
  not_kept_.warn(now(), "cluster: {} is damaged: {}", paths_.succession().string(),
                 succession.error().message);
  return std::nullopt;
}

// Of this cluster, and newer than what this host knows.
std::optional<Succession> ClusterService::read_succession(const std::string& text) const {
  if (text.empty() || !membership_) return std::nullopt;
  const auto authority = read_file(paths_.authority());
  if (!authority) return std::nullopt;
  auto succession = authority::parse_succession(text, *authority);
  if (!succession) return std::nullopt;
  const bool is_news = succession->keeper.cluster == membership_->self.cluster &&
                       succession->keeper.host != membership_->self.host &&
                       (!succession_ || succession->follows(*succession_));
  return is_news ? std::optional(std::move(*succession)) : std::nullopt;
}

// Of a host that follows another, whatever its membership has: a kill in between loses nothing.
void ClusterService::follow_succession(Membership& membership) const {
  if (!succession_ || succession_->keeper.host == membership.self.host) return;
  membership.authority = succession_->keeper.host;
  membership.door = succession_->door;
  membership.etcd = succession_->etcd;
}

// True: this host had the authority, and another has it now.
bool ClusterService::is_succeeded(const Membership& membership) const {
  return membership.has_authority() && succession_ &&
         succession_->keeper.host != membership.self.host;
}

void ClusterService::note_succeeded() {
  {
    const MutexLock lock(mutex_);
    shared_.self.reset();
    shared_.view = nullptr;
  }
  // First the damage: without it this host would look like one that was never in a cluster.
  note_damage(fmt::format("{} is no longer valid: host {} was promoted and is the authority now",
                          paths_.authority_key().string(), succession_->keeper.host),
              fmt::format("Delete this host's cluster files with paravane cluster leave --force, "
                          "and join again with a token from host {}",
                          succession_->keeper.host));
  if (listeners_.view) listeners_.view(nullptr);
}

// The doors of all other hosts that this one knows.
std::vector<HostDoor> ClusterService::doors_of_others() const {
  std::vector<HostDoor> doors;
  if (!kept_) return doors;
  for (const auto& [name, address] : kept_->addresses()) {
    if (name == membership_->self.host) continue;
    const auto door = Endpoint::of(address, config_.cluster.door_port);
    if (door) doors.push_back({.host = name, .door = door->print()});
  }
  return doors;
}

// What a host says of the authority, by its certificate.
Result<authority::DoorAnswer> ClusterService::ask_for_authority(const HostDoor& at) {
  const authority::Identity whom{membership_->self.cluster, at.host};
  const TlsClient client{
      .identity = paths_.identity(),
      .accept = [this, whom](const ShownCertificates& shown) { return accept_host(shown, whom); }};
  return ask_door(at.door, client, question(DoorRequest::Kind::kAuthority));
}

// True: there is a newer authority than this host knew, and it follows that, or is shut out.
bool ClusterService::ask_others(const std::vector<HostDoor>& doors) {
  return hear_answers(
      ask_doors(doors, [this](const HostDoor& at) { return ask_for_authority(at); }));
}

bool ClusterService::hear_answers(const std::vector<Result<authority::DoorAnswer>>& answers) {
  std::optional<Succession> newest;
  std::string text;
  for (const auto& answer : answers) {
    if (!answer) continue;
    auto succession = read_succession(answer->succession);
    if (!succession || (newest && !succession->follows(*newest))) continue;
    newest = std::move(succession);
    text = answer->succession;
  }
  if (!newest) return false;
  take_succession(std::move(*newest), text);
  return true;
}

// False: it is not on disk, and is heard of again after a restart.
bool ClusterService::take_succession(Succession succession, const std::string& text) {
  const Status noted = write_file(paths_.succession(), text);
  tell_kept(noted);
  succession_ = std::move(succession);
  log::warn("cluster: host {} was promoted and is the authority now", succession_->keeper.host);
  if (problem_.empty()) tell_kept(kept_->flush(member_->records(), now()));
  Membership membership = *membership_;
  step_out();
  if (is_succeeded(membership)) {
    note_succeeded();
    return noted.has_value();
  }
  follow_succession(membership);
  tell_kept(save_membership(paths_, membership));
  if (Status in = enter(std::move(membership)); !in) note_damage(in.error().message);
  return noted.has_value();
}

// Out of the inventory; its files stay.
void ClusterService::step_out() {
  old_door_ = std::move(door_);
  member_.reset();
  authority_.reset();
  reach_etcd(privsep::EtcdReach::kOff);
  membership_.reset();
  kept_.reset();
  kept_view_.reset();
  problem_.clear();
  compared_ = false;
  asked_others_ = false;
  to_silence_.clear();
  to_curb_.clear();
  wants_settling_ = false;
  certificate_.reset();
}

// Of the authority's host: it may have been away when another was promoted. All others at the
// start, later some at a time. True: another has it.
bool ClusterService::was_succeeded() {
  if (asked_others_ && now() < next_asking_) return false;
  std::vector<HostDoor> doors = doors_of_others();
  if (std::exchange(asked_others_, true)) keep_some(doors);
  next_asking_ = now() + kAskEvery;
  return ask_others(doors);
}

// The next of them, as many as are asked at a time.
void ClusterService::keep_some(std::vector<HostDoor>& doors) {
  if (doors.size() <= kDoorsAtATime) return;
  seek_from_ = (seek_from_ + kDoorsAtATime) % doors.size();
  std::ranges::rotate(doors, doors.begin() + static_cast<std::ptrdiff_t>(seek_from_));
  doors.resize(kDoorsAtATime);
}

// Of a member: the authority's host may be gone for good.
Instant ClusterService::seek_authority() {
  const inventory::MemberState& state = member_->state();
  if (authority_ || membership_->has_authority() || state.connected) {
    seek_pause_ = {};
    return kNever;
  }
  if (seek_pause_ == Duration{}) {
    seek_pause_ = kSeekFirst;
    next_seek_ = now() + kSeekFirst;
  }
  if (now() < next_seek_) return next_seek_;
  std::vector<HostDoor> doors = doors_of_others();
  if (doors.size() <= kDoorsAtATime)
    seek_pause_ = doubled_pause(seek_pause_, kSeekFirst, kSeekLongest);
  keep_some(doors);
  next_seek_ = now() + seek_pause_;
  if (ask_others(doors)) return now();
  return next_seek_;
}

// The promoted host writes its proof into the inventory, too, since a connected member does not
// ask other hosts. True: this host follows it now, or is shut out.
bool ClusterService::reads_of_succession() {
  const std::shared_ptr<const inventory::View> seen = view();
  if (!seen) return false;
  const auto found = seen->documents.find(std::string(inventory::kSuccessionDocument));
  if (found == seen->documents.end() || found->second == succession_read_) return false;
  succession_read_ = found->second;
  auto succession = read_succession(succession_read_);
  if (!succession) return false;
  take_succession(std::move(*succession), succession_read_);
  return true;
}

// Of a promoted host: the one before may run on where nothing reached it.
Instant ClusterService::tell_predecessor() {
  if (!authority_ || !succession_ || succession_->before.empty() ||
      succession_->before == membership_->door) {
    return kNever;
  }
  if (now() < next_telling_) return next_telling_;
  tell_pause_ = doubled_pause(tell_pause_, kTellFirst, kTellLongest);
  next_telling_ = now() + tell_pause_;
  const auto text = read_file(paths_.succession());
  if (!text) return next_telling_;
  const TlsClient client{.identity = paths_.identity(),
                         .accept = [this](const ShownCertificates& shown) {
                           return accept_host(shown, std::nullopt);
                         }};
  const auto answer =
      ask_door(succession_->before, client, question(DoorRequest::Kind::kSucceeded, *text));
  if (!answer || std::exchange(is_told_, true)) return next_telling_;
  log::info("cluster: the former authority now knows that this host has replaced it");
  return next_telling_;  // again and again: what answered may not have been that host
}

// The authority's host, if this one sees it run. An operator's etcd shows it until its lease ends.
std::string ClusterService::seen_authority() const {
  if (!member_ || membership_->has_authority() || !member_->state().connected) return {};
  if (membership_->own_etcd_authority) return membership_->authority;
  const std::shared_ptr<const inventory::View> seen = view();
  if (!seen) return {};
  const auto host = seen->hosts.find(membership_->authority);
  const bool is_there = host != seen->hosts.end() && host->second.info;
  return is_there ? membership_->authority : std::string();
}

// Runs on the door's thread: the cluster's thread may be asking other hosts the same, and two hosts
// that waited for each other would both time out. nullopt: this host is in no cluster.
std::optional<authority::DoorAnswer> ClusterService::answer_of_authority() const {
  authority::DoorAnswer answer;
  const std::int64_t seconds = authority::wall_clock().time_since_epoch().count();
  answer.clock_s = static_cast<std::uint64_t>(std::max(seconds, std::int64_t{0}));
  const MutexLock lock(mutex_);
  if (!shared_.self) return std::nullopt;
  answer.host = shared_.self->host;
  answer.succession = shared_.succession;
  answer.sees = shared_.sees;
  answer.generation = shared_.generation;
  return answer;
}

authority::DoorAnswer ClusterService::hear_succession(const std::string& text) {
  authority::DoorAnswer answer;
  auto succession = read_succession(text);
  if (!succession) {
    answer.problem = "the proof of promotion is not valid, or not newer than the known one";
    return answer;
  }
  answer.host = membership_->self.host;
  if (!take_succession(std::move(*succession), text))
    answer.problem = "the proof of promotion is not saved on this host yet";
  return answer;
}

}  // namespace paravane::cluster
