#include "ipoib/uplink_image.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>

#include "base/wire_int.h"
#include "ipoib/group_mac.h"
#include "ipoib/link_mtu.h"
#include "wire/infiniband/ip_over_infiniband.h"
#include "wire/infiniband/local_route.h"
#include "wire/infiniband/subnet_administration.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::ipoib {
namespace {

using state::Reader;
using state::Writer;
using wire::infiniband::Mtu;

// Of the whole.
constexpr state::Tag kPortGuid{1};
constexpr state::Tag kPortLid{2};
constexpr state::Tag kJoined{3};      // a list of SavedPartition
constexpr state::Tag kOwn{4};         // a list of SavedAddress, last used first
constexpr state::Tag kKnown{5};       // a list of SavedPath
constexpr state::Tag kCountedOne{6};  // a list
constexpr state::Tag kGroups{7};      // a list of SavedPartition
constexpr state::Tag kListeners{8};   // a list of SavedListener
// Of a counter.
constexpr state::Tag kCountedName{1};
constexpr state::Tag kCountedValue{2};

// They are counted on, and must not come round.
constexpr std::uint64_t kMostCounted = std::uint64_t{1} << 62;
constexpr std::uint16_t kMostVlan = 4094;
constexpr std::uint32_t kMostFlowLabel = 0xF'FFFF;
constexpr std::uint8_t kMostLevel = 15;

struct SavedPartition {
  Le16 vlan;
  wire::infiniband::Gid gid{};
  Le16 lid;
  Le16 partition;
  Le32 qkey;
  std::uint8_t level = 0;
  std::uint8_t traffic_class = 0;
  Le32 flow_label;
  std::uint8_t hop_limit = 0;
  std::uint8_t mtu = 0;   // of the link, as a number of the protocol
  std::uint8_t rate = 0;  // likewise
};
static_assert(sizeof(SavedPartition) == 35);

struct SavedListener {
  MacBytes mac{};
  Le16 vlan;
  Le16 signature;  // of GroupName
  std::array<std::uint8_t, 10> low{};
  Le32 left_ms;
};
static_assert(sizeof(SavedListener) == 24);

struct SavedAddress {
  MacBytes mac{};
  Le16 vlan;
  Le32 queue_pair;
  Le32 silent_ms;
  std::uint8_t is_answered = 0;  // or 1
};
static_assert(sizeof(SavedAddress) == 17);

struct SavedPath {
  Le16 partition;
  Le16 lid;
  wire::infiniband::Gid gid{};
  std::uint8_t level = 0;
  Le16 source;           // LID
  std::uint8_t mtu = 0;  // as a number of the protocol
};
static_assert(sizeof(SavedPath) == 24);

// What read_broadcast_group() lets through.
bool is_possible(const SavedPartition& one) {
  return one.vlan.get() <= kMostVlan && wire::infiniband::is_multicast_lid(one.lid.get()) &&
         one.partition.get() != 0 && !is_controlled_qkey(one.qkey.get()) &&
         carries_ip(static_cast<Mtu>(one.mtu)) && one.level <= kMostLevel &&
         one.flow_label.get() <= kMostFlowLabel && one.rate <= wire::infiniband::kValueBits;
}

bool is_possible(const SavedListener& one) {
  const std::uint16_t signature = one.signature.get();
  return one.vlan.get() <= kMostVlan && !is_group_mac(one.mac) &&
         (signature == wire::infiniband::kIpv4Signature ||
          signature == wire::infiniband::kIpv6Signature) &&
         std::chrono::milliseconds(one.left_ms.get()) <= kMembershipLife;
}

bool is_possible(const SavedAddress& one) {
  return one.vlan.get() <= kMostVlan && !is_group_mac(one.mac) &&
         has_remote_mac({.number = one.queue_pair.get(), .lid = 1}) && one.is_answered <= 1 &&
         std::chrono::milliseconds(one.silent_ms.get()) <= OwnAddresses::kIdle;
}

bool is_possible(const SavedPath& one) {
  return wire::infiniband::is_unicast_lid(one.lid.get()) && one.level <= kMostLevel &&
         is_link_mtu(one.mtu);
}

SavedPartition saved(const UplinkImage::Partition& one) {
  const BroadcastGroup& group = one.group;
  return {.vlan = Le16(one.vlan),
          .gid = group.gid,
          .lid = Le16(group.lid),
          .partition = Le16(group.partition),
          .qkey = Le32(group.qkey),
          .level = group.level,
          .traffic_class = group.traffic_class,
          .flow_label = Le32(group.flow_label),
          .hop_limit = group.hop_limit,
          .mtu = number_of_mtu(link_mtu_of(group.mtu)),
          .rate = group.rate_code};
}

UplinkImage::Partition loaded(const SavedPartition& one) {
  return {.vlan = one.vlan.get(),
          .group = {.gid = one.gid,
                    .lid = one.lid.get(),
                    .partition = one.partition.get(),
                    .qkey = one.qkey.get(),
                    .level = one.level,
                    .traffic_class = one.traffic_class,
                    .flow_label = one.flow_label.get(),
                    .hop_limit = one.hop_limit,
                    .mtu = ip_mtu_of(wire::infiniband::bytes_of(static_cast<Mtu>(one.mtu))),
                    .mtu_code = one.mtu,
                    .rate_code = one.rate}};
}

SavedListener saved(const UplinkImage::Listener& one) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::clamp<Duration>(one.left, Duration::zero(), kMembershipLife));
  return {.mac = one.listener.mac,
          .vlan = Le16(one.listener.vlan),
          .signature = Le16(one.listener.group.signature),
          .low = one.listener.group.low,
          .left_ms = Le32(static_cast<std::uint32_t>(left.count()))};
}

UplinkImage::Listener loaded(const SavedListener& one) {
  return {.listener = {.vlan = one.vlan.get(),
                       .mac = one.mac,
                       .group = {.signature = one.signature.get(), .low = one.low}},
          .left = std::chrono::milliseconds(one.left_ms.get())};
}

SavedAddress saved(const UplinkImage::Address& one) {
  const auto silent = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::clamp<Duration>(one.silent, Duration::zero(), OwnAddresses::kIdle));
  return {.mac = one.mac,
          .vlan = Le16(one.vlan),
          .queue_pair = Le32(one.queue_pair),
          .silent_ms = Le32(static_cast<std::uint32_t>(silent.count())),
          .is_answered = one.is_answered ? std::uint8_t{1} : std::uint8_t{0}};
}

UplinkImage::Address loaded(const SavedAddress& one) {
  return {.mac = one.mac,
          .vlan = one.vlan.get(),
          .queue_pair = one.queue_pair.get(),
          .silent = std::chrono::milliseconds(one.silent_ms.get()),
          .is_answered = one.is_answered != 0};
}

SavedPath saved(const UplinkImage::KnownPath& one) {
  return {.partition = Le16(one.key.partition),
          .lid = Le16(one.key.lid),
          .gid = one.path.gid,
          .level = one.path.level,
          .source = Le16(one.path.source),
          .mtu = number_of_mtu(one.path.mtu)};
}

UplinkImage::KnownPath loaded(const SavedPath& one) {
  return {.key = {.partition = one.partition.get(), .lid = one.lid.get()},
          .path = {.gid = one.gid,
                   .level = one.level,
                   .source = one.source.get(),
                   .mtu = wire::infiniband::bytes_of(static_cast<Mtu>(one.mtu))}};
}

template <typename Saved, typename Value>
void save_list(state::Tag tag, const std::vector<Value>& values, Writer& out) {
  std::vector<Saved> list;
  list.reserve(values.size());
  for (const Value& one : values) list.push_back(saved(one));
  out.list(tag, list);
}

template <typename Saved, typename Value>
void load_list(state::Tag tag, std::size_t most, std::vector<Value>& values, Reader& in) {
  for (const Saved& one : in.list<Saved>(tag, most)) {
    if (!in.expect(is_possible(one), "what no manager says")) return;
    values.push_back(loaded(one));
  }
}

}  // namespace

void save(const UplinkImage& image, Writer& out) {
  out.number(kPortGuid, image.port_guid);
  out.number(kPortLid, image.lid);
  save_list<SavedPartition>(kJoined, image.partitions, out);
  save_list<SavedAddress>(kOwn, image.addresses, out);
  save_list<SavedPath>(kKnown, image.paths, out);
  for (const auto& [name, value] : image.counters) {
    const Writer::Group group(out, kCountedOne);
    out.bytes(kCountedName, std::as_bytes(std::span(name)));
    out.number(kCountedValue, value);
  }
  save_list<SavedPartition>(kGroups, image.groups, out);
  save_list<SavedListener>(kListeners, image.listeners, out);
}

UplinkImage load_uplink_image(Reader& in) {
  UplinkImage image;
  image.port_guid = in.number(kPortGuid);
  image.lid = static_cast<std::uint16_t>(in.number(kPortLid, UINT16_MAX));
  load_list<SavedPartition>(kJoined, UplinkImage::kMostPartitions, image.partitions, in);
  load_list<SavedAddress>(kOwn, OwnAddresses::kMost, image.addresses, in);
  load_list<SavedPath>(kKnown, Paths::kMost, image.paths, in);
  while (auto group = in.group_if(kCountedOne)) {
    const auto name = group->bytes(kCountedName, UplinkImage::kLongestCounter);
    const std::uint64_t value = group->number(kCountedValue, kMostCounted);
    group->end();
    if (!in.expect(image.counters.size() < UplinkImage::kMostCounters, "too many counters")) break;
    image.counters.emplace_back(
        std::string(reinterpret_cast<const char*>(name.data()), name.size()), value);
  }
  load_list<SavedPartition>(kGroups, UplinkImage::kMostGroups, image.groups, in);
  load_list<SavedListener>(kListeners, WantedGroups::kMostListeners, image.listeners, in);
  in.end();
  return in.good() ? std::move(image) : UplinkImage{};
}

}  // namespace paravane::ipoib
