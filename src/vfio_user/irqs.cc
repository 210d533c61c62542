#include "vfio_user/irqs.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "vfio_user/eventfd_check.h"

namespace paravane::vfio_user {
std::uint32_t Irqs::vectors_of(IrqIndex index) const {
  switch (index) {
    case IrqIndex::kMsix: return interrupts_.vectors();
    case IrqIndex::kErr: return 1;
    case IrqIndex::kIntx:
    case IrqIndex::kMsi:
    case IrqIndex::kReq: return 0;
  }
  return 0;
}

// Not NORESIZE: with it QEMU drops all vectors whenever the guest adds one.
Handled Irqs::info(const Request& request, Reply& reply) const {
  const auto asked = leading<IrqInfo>(request.payload);
  if (!asked || asked->argsz.get() < sizeof(IrqInfo)) return refuse(EINVAL);
  if (asked->index.get() >= kIrqIndices) return refuse(EINVAL);
  const std::uint32_t vectors = vectors_of(static_cast<IrqIndex>(asked->index.get()));
  reply.append(IrqInfo{.argsz = Le32(sizeof(IrqInfo)),
                       .flags = Le32(IrqInfo::kEventfd),
                       .index = asked->index,
                       .count = Le32(vectors)});
  return Answer::kNow;
}

Handled Irqs::set(Request& request) {
  const auto set = leading<SetIrqs>(request.payload);
  if (!set || set->argsz.get() < sizeof(SetIrqs)) return refuse(EINVAL);
  const std::uint32_t flags = set->flags.get();
  const std::uint32_t data = flags & SetIrqs::kDataMask;
  const std::uint32_t action = flags & SetIrqs::kActionMask;
  if ((flags & ~(SetIrqs::kDataMask | SetIrqs::kActionMask)) != 0 || !std::has_single_bit(data) ||
      !std::has_single_bit(action) || set->index.get() >= kIrqIndices) {
    return refuse(EINVAL);
  }
  if (data != SetIrqs::kDataEventfd && !request.fds.empty()) return refuse(EINVAL);
  // Nothing of ours is maskable: the MSI-X masks are the VMM's.
  if (action != SetIrqs::kTrigger) return refuse(EINVAL);

  const auto index = static_cast<IrqIndex>(set->index.get());
  const bool disable = data == SetIrqs::kDataNone && set->count.get() == 0;
  if (disable) {
    if (index == IrqIndex::kMsix) interrupts_.detach_all();
    return Answer::kNow;
  }
  const std::uint32_t vectors = vectors_of(index);
  const std::uint32_t start = set->start.get();
  const std::uint32_t count = set->count.get();
  if (count == 0 || start > vectors || count > vectors - start) return refuse(EINVAL);
  if (request.fds.size() > count) return refuse(EINVAL);
  return index == IrqIndex::kMsix ? set_msix(*set, request) : Handled(Answer::kNow);
}

Handled Irqs::set_msix(const SetIrqs& set, Request& request) {
  const std::span<const std::byte> bools = request.payload.subspan(sizeof(SetIrqs));
  switch (set.flags.get() & SetIrqs::kDataMask) {
    case SetIrqs::kDataEventfd: return attach(set, request.fds);
    case SetIrqs::kDataBool:
      if (bools.size() != set.count.get()) return refuse(EINVAL);
      fire(set, bools);
      return Answer::kNow;
    default: fire(set, {}); return Answer::kNow;
  }
}

// All or nothing. Fewer descriptors than vectors would leave open which vectors
// they are for.
Handled Irqs::attach(const SetIrqs& set, std::vector<UniqueFd>& fds) {
  if (!fds.empty() && fds.size() != set.count.get()) return refuse(EINVAL);
  const bool all_good =
      std::ranges::all_of(fds, [](const UniqueFd& fd) { return prepare_eventfd(fd.get()); });
  if (!all_good) return refuse(EINVAL);
  for (std::uint32_t i = 0; i < set.count.get(); ++i) {
    const auto vector = static_cast<std::uint16_t>(set.start.get() + i);
    if (fds.empty()) {
      interrupts_.detach(vector);
    } else {
      interrupts_.attach(vector, std::move(fds[i]));
    }
  }
  return Answer::kNow;
}

// `which` has a byte per vector; empty: all of them.
void Irqs::fire(const SetIrqs& set, std::span<const std::byte> which) {
  for (std::uint32_t i = 0; i < set.count.get(); ++i) {
    if (!which.empty() && which[i] == std::byte{0}) continue;
    interrupts_.signal(static_cast<std::uint16_t>(set.start.get() + i));
  }
}

}  // namespace paravane::vfio_user
