#include "vfio_user/regions.h"

#include <algorithm>
#include <array>

#include "vfio_user/spec_check.h"

namespace paravane::vfio_user {
namespace {

// Where the MSI-X structures lie in `bar`; empty ones are of no harm.
struct Hole {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

std::array<Hole, 2> holes_of(const MsixSpec& msix, unsigned bar) {
  std::array<Hole, 2> holes{};
  if (msix.vectors == 0) return holes;
  if (msix.table_bar == bar) {
    holes[0] = {msix.table_offset, msix.table_offset + msix_table_bytes(msix)};
  }
  if (msix.pba_bar == bar) holes[1] = {msix.pba_offset, msix.pba_offset + msix_pba_bytes(msix)};
  if (holes[1].begin < holes[0].begin) std::swap(holes[0], holes[1]);
  return holes;
}

// One area that is the whole BAR needs no list of areas.
bool needs_area_list(const BarSpec& bar) {
  return !(bar.mmap_areas.size() == 1 && bar.mmap_areas[0].offset == 0 &&
           bar.mmap_areas[0].size == bar.size);
}

void append_area_list(const BarSpec& bar, Reply& reply) {
  reply.append(SparseMmap{.id = Le16(SparseMmap::kId),
                          .version = Le16(SparseMmap::kVersion),
                          .next = {},
                          .areas = Le32(static_cast<std::uint32_t>(bar.mmap_areas.size())),
                          .reserved = {}});
  for (const MmapArea& area : bar.mmap_areas) {
    reply.append(SparseArea{.offset = Le64(area.offset), .size = Le64(area.size)});
  }
}

}  // namespace

std::uint64_t Regions::size_of(std::uint32_t region) const {
  if (region < kBars) return function_.spec().bars[region].size;
  return region == kConfigRegion ? kConfigBytes : 0;
}

// Two steps, as the kernel's VFIO does it: a client whose argsz is too small
// for the list of areas learns the size first, without the descriptor.
Handled Regions::info(const Request& request, Reply& reply) const {
  const auto asked = leading<RegionInfo>(request.payload);
  if (!asked || asked->argsz.get() < sizeof(RegionInfo)) return refuse(EINVAL);
  const std::uint32_t index = asked->index.get();
  if (index >= kRegions) return refuse(EINVAL);

  const std::uint64_t size = size_of(index);
  RegionInfo info{.argsz = Le32(sizeof(RegionInfo)),
                  .flags = {},
                  .index = Le32(index),
                  .cap_offset = {},
                  .size = Le64(size),
                  .offset = {}};
  if (size == 0) {
    reply.append(info);
    return Answer::kNow;
  }
  std::uint32_t flags = RegionInfo::kRead | RegionInfo::kWrite;
  const bool mappable =
      index < kBars && limits_.max_fds > 0 && !function_.spec().bars[index].mmap_areas.empty();
  if (!mappable) {
    info.flags.set(flags);
    reply.append(info);
    return Answer::kNow;
  }

  const BarSpec& bar = function_.spec().bars[index];
  flags |= RegionInfo::kMmap;
  std::size_t full = sizeof(RegionInfo);
  if (needs_area_list(bar)) {
    full += sizeof(SparseMmap) + bar.mmap_areas.size() * sizeof(SparseArea);
    flags |= RegionInfo::kCaps;
    info.cap_offset.set(sizeof(RegionInfo));
  }
  info.flags.set(flags);
  info.argsz.set(static_cast<std::uint32_t>(full));
  reply.append(info);
  if (asked->argsz.get() < full) return Answer::kNow;
  if (needs_area_list(bar)) append_area_list(bar, reply);
  reply.attach_fd(bar.mmap_fd);
  return Answer::kNow;
}

// No region has eventfds that stand for writes.
Handled Regions::io_fds(const Request& request, Reply& reply) const {
  const auto asked = leading<RegionIoFds>(request.payload);
  if (!asked || asked->argsz.get() < sizeof(RegionIoFds)) return refuse(EINVAL);
  if (asked->index.get() >= kRegions) return refuse(EINVAL);
  reply.append(RegionIoFds{
      .argsz = Le32(sizeof(RegionIoFds)), .flags = {}, .index = asked->index, .count = {}});
  return Answer::kNow;
}

bool Regions::inside(const RegionAccess& access) const {
  const std::uint64_t size = size_of(access.region.get());
  const std::uint64_t offset = access.offset.get();
  return offset <= size && access.count.get() <= size - offset;
}

Handled Regions::read(const Request& request, Reply& reply) {
  const auto access = leading<RegionAccess>(request.payload);
  if (!access || access->count.get() > limits_.max_data) return refuse(EINVAL);
  reply.append(*access);
  const std::span<std::byte> out = reply.append_space(access->count.get());
  const std::uint32_t region = access->region.get();
  if (!inside(*access)) {
    counters_.dropped_accesses.add();
    std::ranges::fill(out, std::byte{0xFF});
  } else if (region == kConfigRegion) {
    counters_.config_accesses.add();
    function_.config().read(access->offset.get(), out);
  } else {
    counters_.bar_reads.add();
    read_bar(region, access->offset.get(), out);
  }
  return Answer::kNow;
}

// `out` is zeroed already; the device fills what lies around the holes.
void Regions::read_bar(unsigned bar, std::uint64_t offset, std::span<std::byte> out) {
  const std::uint64_t end = offset + out.size();
  std::uint64_t at = offset;
  for (const Hole& hole : holes_of(function_.spec().msix, bar)) {
    const std::uint64_t stop = std::clamp(hole.begin, at, end);
    if (stop > at) function_.device().read_bar(bar, at, out.subspan(at - offset, stop - at));
    at = std::clamp(hole.end, stop, end);
  }
  if (end > at) function_.device().read_bar(bar, at, out.subspan(at - offset));
}

Handled Regions::write(const Request& request, Reply& reply, ReplyToken token) {
  const auto access = leading<RegionAccess>(request.payload);
  if (!access || access->count.get() > limits_.max_data) return refuse(EINVAL);
  const std::span<const std::byte> in = request.payload.subspan(sizeof(RegionAccess));
  if (in.size() != access->count.get()) return refuse(EINVAL);
  reply.append(*access);
  const bool posted = request.posted();
  const std::uint32_t region = access->region.get();
  const std::uint64_t offset = access->offset.get();
  if (!inside(*access) || in.empty()) {
    counters_.dropped_accesses.add();
    return Answer::kNow;
  }
  if (region == kConfigRegion) {
    counters_.config_accesses.add();
    return function_.write_config(offset, in, token);
  }
  counters_.bar_writes.add();
  if (posted) counters_.posted_writes.add();
  for (const Hole& hole : holes_of(function_.spec().msix, region)) {
    if (offset < hole.end && hole.begin < offset + in.size()) return Answer::kNow;
  }
  const Answer answer = function_.device().write_bar(region, offset, in, posted, token);
  return posted ? Answer::kNow : answer;
}

}  // namespace paravane::vfio_user
