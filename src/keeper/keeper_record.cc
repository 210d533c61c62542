#include "keeper/keeper_record.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <string_view>
#include <utility>

#include "privsep/process_link.h"
#include "privsep/switch_plan.h"
#include "state/reader.h"
#include "state/writer.h"

namespace paravane::keeper {
namespace {

using state::Reader;
using state::Tag;
using state::Writer;

constexpr Tag kVersion{1};
constexpr Tag kProgram{2};
constexpr Tag kConfigFile{3};
constexpr Tag kConfigText{4};
constexpr Tag kAccount{5};
constexpr Tag kLogLevel{6};
constexpr Tag kToldReady{7};
constexpr Tag kEngine{8};
constexpr Tag kHolder{9};
constexpr Tag kHoldersEnded{10};
constexpr Tag kSuccession{11};
constexpr Tag kEtcd{12};
constexpr Tag kSwitches{13};

// Of an account.
constexpr Tag kUid{1};
constexpr Tag kGid{2};
constexpr Tag kApiGroup{3};
constexpr Tag kVmGroup{4};
constexpr Tag kUmadGroup{5 | state::kMayBeSkipped};  // an older program has no such door

// Of a child.
constexpr Tag kPid{1};
constexpr Tag kLine{2};

// Of the succession.
constexpr Tag kEngineVersion{1};
constexpr Tag kEarliest{2};
constexpr Tag kRecoveries{3};
constexpr Tag kLastRecovery{4};

// Of etcd.
constexpr Tag kReach{1};
constexpr Tag kEngineBegins{2};
constexpr Tag kEtcdPid{3};
constexpr Tag kStarted{4};
constexpr Tag kNextTry{5};
constexpr Tag kPause{6};
constexpr Tag kEtcdLog{7};

// Of the switches.
constexpr Tag kNumber{1};
constexpr Tag kPlan{2};
constexpr Tag kUntold{3};
constexpr Tag kKnownNic{4};

// Of a NIC.
constexpr Tag kName{1};
constexpr Tag kIndex{2};
constexpr Tag kKind{3};
constexpr Tag kMac{4};
constexpr Tag kOwnMac{5};

constexpr std::size_t kMostWord = 255;
constexpr std::size_t kMostPath = 4096;
constexpr std::size_t kMostConfig = std::size_t{2} << 20;
constexpr std::size_t kMostNics = 1024;
constexpr std::uint64_t kMostDescriptor = (1 << 20) - 1;
constexpr std::uint64_t kMostPid = INT_MAX;
constexpr std::uint64_t kMostCount = 1000;

// ---- Values that are no numbers of their own ----

void write_text(Writer& out, Tag tag, std::string_view text) {
  out.bytes(tag, std::as_bytes(std::span(text)));
}

std::string read_text(Reader& in, Tag tag, std::size_t most = kMostWord) {
  const auto bytes = in.bytes(tag, most);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Of the steady clock, which all processes of a host share. What never happened is its beginning.
void write_time(Writer& out, Tag tag, Instant time) {
  const auto since = time.time_since_epoch() / std::chrono::nanoseconds(1);
  out.number(tag, static_cast<std::uint64_t>(std::max<std::int64_t>(since, 0)));
}

Instant read_time(Reader& in, Tag tag) {
  return Instant(std::chrono::nanoseconds(in.number(tag, INT64_MAX / 2)));
}

void write_descriptor(Writer& out, Tag tag, int fd) {
  if (fd >= 0) out.number(tag, static_cast<std::uint64_t>(fd));
}

int read_descriptor_if(Reader& in, Tag tag) {
  const auto fd = in.number_if(tag, kMostDescriptor);
  return fd ? static_cast<int>(*fd) : -1;
}

void write_group_id(Writer& out, Tag tag, const std::optional<gid_t>& group) {
  if (group) out.number(tag, *group);
}

std::optional<gid_t> read_group_id(Reader& in, Tag tag) {
  const auto group = in.number_if(tag, UINT32_MAX - 1);
  return group ? std::optional(static_cast<gid_t>(*group)) : std::nullopt;
}

// ---- Groups ----

void write(Writer& out, const settings::EngineAccount& account) {
  const Writer::Group group(out, kAccount);
  if (account.user) {
    out.number(kUid, account.user->uid);
    out.number(kGid, account.user->gid);
  }
  write_group_id(out, kApiGroup, account.api_group);
  write_group_id(out, kVmGroup, account.vm_group);
  write_group_id(out, kUmadGroup, account.umad_group);
}

settings::EngineAccount read_account(Reader in) {
  settings::EngineAccount account;
  if (const auto uid = in.number_if(kUid, UINT32_MAX - 1)) {
    in.expect(*uid != 0, "the engine cannot be root");
    account.user = {.uid = static_cast<uid_t>(*uid),
                    .gid = static_cast<gid_t>(in.number(kGid, UINT32_MAX - 1))};
  }
  account.api_group = read_group_id(in, kApiGroup);
  account.vm_group = read_group_id(in, kVmGroup);
  account.umad_group = read_group_id(in, kUmadGroup);
  in.end();
  return account;
}

void write(Writer& out, Tag tag, const KeeperRecord::Child& child) {
  const Writer::Group group(out, tag);
  out.number(kPid, static_cast<std::uint64_t>(child.pid));
  write_descriptor(out, kLine, child.line);
}

KeeperRecord::Child read_child(Reader in) {
  KeeperRecord::Child child{.pid = static_cast<pid_t>(in.number(kPid, kMostPid)),
                            .line = static_cast<int>(in.number(kLine, kMostDescriptor))};
  in.expect(child.pid > 1, "no process");
  in.end();
  return child;
}

void write(Writer& out, const Succession::Saved& saved) {
  const Writer::Group group(out, kSuccession);
  write_text(out, kEngineVersion, saved.version);
  write_time(out, kEarliest, saved.earliest);
  out.number(kRecoveries, static_cast<std::uint64_t>(saved.recoveries));
  write_time(out, kLastRecovery, saved.last_recovery);
}

Succession::Saved read_succession(Reader in) {
  Succession::Saved saved{
      .version = read_text(in, kEngineVersion),
      .earliest = read_time(in, kEarliest),
      .recoveries = static_cast<int>(in.number(kRecoveries, Succession::kMostRecoveries)),
      .last_recovery = read_time(in, kLastRecovery)};
  in.end();
  return saved;
}

void write(Writer& out, const EtcdService::Saved& saved) {
  const Writer::Group group(out, kEtcd);
  out.choice(kReach, saved.reach);
  out.flag(kEngineBegins, saved.engine_begins);
  if (saved.pid > 0) out.number(kEtcdPid, static_cast<std::uint64_t>(saved.pid));
  write_time(out, kStarted, saved.started);
  write_time(out, kNextTry, saved.next_try);
  write_time(out, kPause, Instant(saved.pause));
  write_descriptor(out, kEtcdLog, saved.log);
}

EtcdService::Saved read_etcd(Reader in) {
  EtcdService::Saved saved{.reach = in.choice(kReach, privsep::EtcdReach::kCluster),
                           .engine_begins = in.flag(kEngineBegins)};
  if (const auto pid = in.number_if(kEtcdPid, kMostPid)) {
    in.expect(*pid > 1, "no process");
    saved.pid = static_cast<pid_t>(*pid);
  }
  saved.started = read_time(in, kStarted);
  saved.next_try = read_time(in, kNextTry);
  saved.pause = read_time(in, kPause).time_since_epoch();
  in.expect(saved.pause <= EtcdService::kLongestPause, "a pause that is too long");
  saved.log = read_descriptor_if(in, kEtcdLog);
  in.end();
  return saved;
}

void write(Writer& out, const std::string& name, const ethernet::NicIdentity& nic) {
  const Writer::Group group(out, kKnownNic);
  write_text(out, kName, name);
  out.number(kIndex, static_cast<std::uint64_t>(std::max(nic.index, 0)));
  write_text(out, kKind, nic.kind);
  write_text(out, kMac, nic.mac);
  write_text(out, kOwnMac, nic.own_mac);
}

void read_nic(Reader in, ethernet::KnownNics& nics) {
  std::string name = read_text(in, kName);
  ethernet::NicIdentity nic{.index = static_cast<int>(in.number(kIndex, INT_MAX)),
                            .kind = read_text(in, kKind),
                            .mac = read_text(in, kMac),
                            .own_mac = read_text(in, kOwnMac)};
  in.end();
  in.expect(nics.size() < kMostNics && nics.emplace(std::move(name), std::move(nic)).second,
            "too many NICs, or one twice");
}

void write(Writer& out, const SwitchFollower::Saved& saved) {
  const Writer::Group group(out, kSwitches);
  const auto plan = saved.plan ? privsep::print(*saved.plan) : Result<std::string>(std::string());
  const privsep::SwitchReport untold{.mended = saved.untold};
  write_text(out, kNumber, saved.number);
  write_text(out, kPlan, plan.value_or(""));
  write_text(out, kUntold, saved.untold.empty() ? "" : privsep::print(untold));
  for (const auto& [name, nic] : saved.known) write(out, name, nic);
}

SwitchFollower::Saved read_switches(Reader in) {
  SwitchFollower::Saved saved{.number = read_text(in, kNumber)};
  if (const std::string text = read_text(in, kPlan, privsep::kMaxPlanText); !text.empty()) {
    auto plan = privsep::parse_switch_plan(text);
    if (plan) {
      saved.plan = std::move(*plan);
    } else {
      in.refuse(plan.error().message);
    }
  }
  if (const std::string text = read_text(in, kUntold, privsep::kMaxReportText); !text.empty()) {
    auto report = privsep::parse_switch_report(text);
    if (report) {
      saved.untold = std::move(report->mended);
    } else {
      in.refuse(report.error().message);
    }
  }
  while (auto nic = in.group_if(kKnownNic)) read_nic(*nic, saved.known);
  in.end();
  return saved;
}

}  // namespace

std::vector<int> KeeperRecord::descriptors() const {
  std::vector<int> all{engine.line};
  if (holder) all.push_back(holder->line);
  if (etcd.log >= 0) all.push_back(etcd.log);
  return all;
}

std::vector<std::byte> write_keeper_record(const KeeperRecord& record) {
  Writer out;
  write_text(out, kVersion, record.version);
  write_text(out, kProgram, record.program);
  write_text(out, kConfigFile, record.config_file);
  write_text(out, kConfigText, record.config_text);
  write(out, record.account);
  write_text(out, kLogLevel, record.log_level);
  out.flag(kToldReady, record.told_ready);
  write(out, kEngine, record.engine);
  if (record.holder) write(out, kHolder, *record.holder);
  out.number(kHoldersEnded, record.holders_ended);
  write(out, record.succession);
  write(out, record.etcd);
  if (record.switches) write(out, *record.switches);
  return out.take();
}

Result<KeeperRecord> read_keeper_record(std::span<const std::byte> bytes) {
  state::Loading loading;
  Reader in(bytes, loading);
  in.expect(bytes.size() <= KeeperRecord::kMostBytes, "it is too long");
  KeeperRecord record{.version = read_text(in, kVersion),
                      .program = read_text(in, kProgram, kMostPath),
                      .config_file = read_text(in, kConfigFile, kMostPath),
                      .config_text = read_text(in, kConfigText, kMostConfig),
                      .account = read_account(in.group(kAccount)),
                      .log_level = read_text(in, kLogLevel),
                      .told_ready = in.flag(kToldReady),
                      .engine = read_child(in.group(kEngine)),
                      .holder = {},
                      .holders_ended = 0,
                      .succession = {},
                      .etcd = {},
                      .switches = {}};
  if (const auto holder = in.group_if(kHolder)) record.holder = read_child(*holder);
  record.holders_ended = static_cast<std::uint32_t>(in.number(kHoldersEnded, kMostCount));
  record.succession = read_succession(in.group(kSuccession));
  record.etcd = read_etcd(in.group(kEtcd));
  if (const auto switches = in.group_if(kSwitches)) record.switches = read_switches(*switches);
  in.end();
  std::vector<int> descriptors = record.descriptors();
  std::ranges::sort(descriptors);
  in.expect(std::ranges::adjacent_find(descriptors) == descriptors.end() &&
                descriptors.front() > STDERR_FILENO,
            "a descriptor twice, or a standard stream");
  if (!in.good()) return std::unexpected(in.status().error());
  return record;
}

}  // namespace paravane::keeper
