#include "vfio_user/dma.h"

#include <limits>
#include <utility>

namespace paravane::vfio_user {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

int to_errno(Errc code) {
  switch (code) {
    case Errc::kInvalidArgument: return EINVAL;
    case Errc::kOutOfRange: return ERANGE;
    case Errc::kNotFound: return ENOENT;
    case Errc::kBadState: return EBUSY;
    case Errc::kResourceExhausted: return ENOSPC;
    case Errc::kUnsupported: return ENOTSUP;
    case Errc::kIo: return EIO;
  }
  return EINVAL;
}

Rights rights_of(std::uint32_t flags) {
  const bool read = (flags & DmaMap::kRead) != 0;
  const bool write = (flags & DmaMap::kWrite) != 0;
  if (read && write) return Rights::kReadWrite;
  return read ? Rights::kRead : Rights::kWrite;
}

}  // namespace

Handled Dma::map(Request& request, std::string& why) {
  const auto map = leading<DmaMap>(request.payload);
  const std::uint32_t flags = map ? map->flags.get() : 0;
  if (!map || map->argsz.get() < sizeof(DmaMap) || request.fds.size() > 1 || flags == 0 ||
      (flags & ~(DmaMap::kRead | DmaMap::kWrite)) != 0) {
    counters_.dma_map_errors.add();
    why = "malformed DMA_MAP";
    return refuse(EINVAL);
  }
  const std::uint64_t iova = map->iova.get();
  const Rights rights = rights_of(flags);
  const bool has_file = !request.fds.empty();
  UniqueFd file = has_file ? std::move(request.fds.front()) : UniqueFd();
  const Status mapped = memory_.map(std::move(file), map->file_offset.get(), GuestAddr{iova},
                                    map->size.get(), rights);
  if (!mapped) {
    counters_.dma_map_errors.add();
    why = mapped.error().message;
    return refuse(to_errno(mapped.error().code));
  }
  counters_.dma_maps.add();
  // RAM starts at 0 on every PC; other things without a descriptor (flash, the
  // BARs of other devices) live elsewhere.
  if (!has_file && rights == Rights::kReadWrite && iova <= kMebibyte) memory_is_private_ = true;
  return Answer::kNow;
}

Handled Dma::unmap(const Request& request, Reply& reply, ReplyToken token) {
  const auto unmap = leading<DmaUnmap>(request.payload);
  if (!unmap || unmap->argsz.get() < sizeof(DmaUnmap)) return refuse(EINVAL);
  const std::uint32_t flags = unmap->flags.get();
  // Bit 0 asks for a bitmap of dirty pages, which belongs to migration.
  if ((flags & ~DmaUnmap::kAll) != 0) return refuse(ENOTSUP);

  reply.append(*unmap);
  counters_.dma_unmaps.add();
  const std::uint64_t before = memory_.generation();
  GuestAddr iova{unmap->iova.get()};
  std::uint64_t size = unmap->size.get();
  if ((flags & DmaUnmap::kAll) != 0) {
    iova = GuestAddr{0};
    size = std::numeric_limits<std::uint64_t>::max();
    memory_.unmap_all();
  } else {
    memory_.unmap(iova, size);
  }
  // A vIOMMU that is switched off unmaps the whole address space piece by
  // piece; the device need not hear of pieces where nothing was.
  if (memory_.generation() == before) return Answer::kNow;
  return device_.on_dma_unmap(iova, size, token);
}

}  // namespace paravane::vfio_user
