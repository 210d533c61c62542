// Adapter: what is saved of it, of its table of GIDs, and of connections.

#include <cassert>
#include <span>
#include <utility>
#include <vector>

#include "base/wire_int.h"
#include "state/counters.h"
#include "verbs/adapter.h"
#include "verbs/connection.h"
#include "verbs/done_memory.h"
#include "verbs/grh.h"
#include "verbs/life_state.h"
#include "verbs/request_state.h"

namespace paravane::verbs {
namespace {

using state::Reader;
using state::Tag;
using state::Writer;

// Of an adapter.
constexpr Tag kFirstLife{1};
constexpr Tag kLastLife{2};
constexpr Tag kLastSerial{3};
constexpr Tag kLastArrival{4};
constexpr Tag kLastNumber{5};
constexpr Tag kDomainNumbers{6};
constexpr Tag kDomains{7};
constexpr Tag kRegions{8};
constexpr Tag kGids{9};
constexpr Tag kAdapterCounters{10};
// Counters that never come to their end, where peers would see a zero.
constexpr std::uint64_t kMostCounted = std::uint64_t{1} << 62;

// Of a table of GIDs.
constexpr Tag kEntry{1};  // a list
constexpr Tag kGidIndex{1};
constexpr Tag kBound{2};
// Of a connection.
constexpr Tag kConnectionSource{1};
constexpr Tag kConnectionPeer{2};

}  // namespace

void Adapter::save(Writer& out) const {
  assert(!closed_);
  {
    const Writer::Group group(out, kFirstLife);
    verbs::save(first_life_, out);
  }
  out.number(kLastLife, last_life_);
  out.number(kLastSerial, last_serial_);
  out.number(kLastArrival, last_arrival_);
  out.number(kLastNumber, qp_cursor_);
  {
    const Writer::Group group(out, kDomainNumbers);
    pd_numbers_.save(out);
  }
  std::vector<Le32> domains;
  for (std::uint32_t number = 0; number < pds_.size(); ++number) {
    if (pds_[number].exists) domains.emplace_back(number);
  }
  out.list(kDomains, domains);
  {
    const Writer::Group group(out, kRegions);
    regions_.save(out);
  }
  {
    const Writer::Group group(out, kGids);
    gids_.save(out);
  }
  const Writer::Group group(out, kAdapterCounters);
  state::save(counters_.set, out);
}

void Adapter::load(Reader& in, const RegionRule& may_be) {
  Reader first_life = in.group(kFirstLife);
  first_life_ = load_life(first_life);
  in.expect(first_life_.high % 2 == 1, "no base of lives");
  settled_at_ = kNever;
  last_life_ = in.number(kLastLife, kMostCounted);
  last_serial_ = in.number(kLastSerial, kMostCounted);
  last_arrival_ = in.number(kLastArrival, kMostCounted);
  qp_cursor_ = static_cast<std::uint32_t>(in.number(kLastNumber, kQpNumberMask));
  Reader numbers = in.group(kDomainNumbers);
  IndexPool::Claims claims = pd_numbers_.load(numbers);
  for (const Le32 number : in.list<Le32>(kDomains, limits_.protection_domains)) {
    if (!in.expect(claims.claim(number.get()), "a protection domain is free, or there twice"))
      return;
    if (number.get() >= pds_.size()) pds_.resize(std::size_t{number.get()} + 1);
    pds_[number.get()].exists = true;
  }
  in.expect(claims.complete(), "a protection domain is missing");
  Reader regions = in.group(kRegions);
  regions_.load(regions, [&](const RegionKind& kind) { return has_pd(kind.pd) && may_be(kind); });
  Reader gids = in.group(kGids);
  gids_.load(gids);
  Reader counters = in.group(kAdapterCounters);
  state::load(counters_.set, counters);
  in.end();
}

void GidTable::save(Writer& out) const {
  for (std::uint32_t index = 0; index < size(); ++index) {
    if (!entries_[index]) continue;
    const Writer::Group entry(out, kEntry);
    out.number(kGidIndex, index);
    const Writer::Group bound(out, kBound);
    verbs::save(*entries_[index], out);
  }
}

void GidTable::load(Reader& in) {
  while (auto entry = in.group_if(kEntry)) {
    const auto index = static_cast<std::uint32_t>(entry->number(kGidIndex, size() - 1));
    Reader bound = entry->group(kBound);
    const BoundGid gid = load_bound_gid(bound);
    entry->end();
    if (!entry->expect(!entries_[index].has_value(), "an index has two GIDs")) return;
    if (!entry->good()) return;
    // One that another adapter has, by a state that lies, is not bound.
    static_cast<void>(bind(index, gid.gid, gid.type));
  }
  in.end();
}

void Connection::save(Writer& out) const {
  {
    const Writer::Group group(out, kConnectionSource);
    verbs::save(source_, out);
  }
  out.bytes(kConnectionPeer, std::as_bytes(std::span(dgid_.raw)));
}

// Whether the adapter has the source is looked at for each path.
void Connection::load(Reader& in) {
  Reader group = in.group(kConnectionSource);
  const BoundGid source = load_bound_gid(group);
  Gid destination;
  in.bytes_into(kConnectionPeer, std::as_writable_bytes(std::span(destination.raw)));
  in.end();
  if (in.expect(!is_multicast(destination), "the peer of a connection is a group") && in.good()) {
    set(source, destination);
  }
}

}  // namespace paravane::verbs
