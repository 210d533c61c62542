// HostileDriver: what its machine does: registers, the DMA map, resets.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "hostile_driver.h"

namespace paravane::fake {

// An address worth trying: a page that exists, one that does not, a crooked one.
std::uint64_t HostileDriver::address(FuzzBytes& input) {
  const std::uint64_t end = GuestRam::kBase + guest().ram().size();
  switch (input.below(8)) {
    case 0: return end;
    case 1: return end - kPage;
    case 2: return ~std::uint64_t{0} << 12;
    case 3: return input.u64();
    case 4: return GuestRam::kBase + input.u16();
    default: {
      const PageSet& set = some_pages(input);
      const std::uint32_t pick = input.u8();
      if (pick >= 0xF0) return guest().response_address();
      return pick >= 0xC0 ? set.directory : set.pages[pick % set.pages.size()];
    }
  }
}

void HostileDriver::touch_registers(FuzzBytes& input) {
  const std::uint64_t offset = (input.u8() & 1) != 0 ? input.u16() % 4096u : input.below(10) * 4;
  const std::size_t size = std::min<std::size_t>(std::size_t{1} << input.below(4), 4096 - offset);
  std::array<std::byte, 8> bytes{};
  const std::uint32_t value = hostile_number(input);
  std::memcpy(bytes.data(), &value, sizeof value);
  if ((input.u8() & 3) != 0) machine().write_bar(1, offset, std::span(bytes).first(size));
  rig_.device(vm_).read_bar(1, offset, std::span(bytes).first(size));
}

void HostileDriver::change_memory(FuzzBytes& input) {
  const std::uint32_t what = input.below(6);
  const std::uint64_t first = address(input) & ~std::uint64_t{kPage - 1};
  const std::uint64_t bytes = (std::uint64_t{1} + input.u8()) * kPage;
  switch (what) {
    case 0: machine().unmap_ram(); return;
    case 1: machine().set_bus_master((input.u8() & 1) != 0); return;
    case 2: {
      // As the VMM's map has it when there is something of its own there.
      GuestRam& ram = guest().ram();
      machine().unmap_part(first, bytes);
      const std::uint64_t offset = first - GuestRam::kBase;
      static_cast<void>(rig_.memory(vm_).map(ram.duplicate_fd(), offset, GuestAddr{first}, bytes,
                                             static_cast<Rights>(input.below(4))));
      return;
    }
    case 3: machine().unmap_part(first, bytes); return;
    default: machine().unmap_ram(); machine().map_ram();
  }
}

void HostileDriver::map_spare() {
  constexpr std::uint64_t kBytes = 4 * kPage;
  if (!spare_) {
    spare_ = UniqueFd(::memfd_create("hostile-spare-memory", MFD_CLOEXEC));
    if (!spare_ || ::ftruncate(spare_.get(), kBytes) != 0) std::abort();
  }
  machine().unmap_part(spare(), kBytes);
  // Refused when there is nothing left of it.
  static_cast<void>(rig_.memory(vm_).map(UniqueFd(::fcntl(spare_.get(), F_DUPFD_CLOEXEC, 0)), 0,
                                         GuestAddr{spare()}, kBytes, Rights::kReadWrite));
}

void HostileDriver::shrink() {
  shrunk_ = true;
  if (::ftruncate(spare_.get(), 0) != 0) std::abort();
}

void HostileDriver::forget_all() {
  alive_ = {};
  alive(Kind::kContext, 0) = true;
  for (auto& context : contexts_) context->handle = 0;
  for (auto& qp : qps_) qp->forget_ring_contents();
  for (auto& cq : cqs_) cq->ring().set_head(0);
  for (auto& cq : cqs_) cq->ring().set_tail(0);
  for (auto& srq : srqs_) srq->receive_ring().set_head(0);
  for (auto& srq : srqs_) srq->receive_ring().set_tail(0);
}

void HostileDriver::restore() {
  machine().unmap_ram();
  machine().map_ram();
  map_spare();
  machine().set_bus_master(true);
}

void HostileDriver::reset(FuzzBytes& input) {
  switch (input.below(5)) {
    case 0: machine().write_register(kRegCtl, kCtlReset); break;
    case 1: machine().reset(vfio_user::ResetCause::kFunctionReset); break;
    case 2: machine().reset(vfio_user::ResetCause::kDisconnect); break;
    case 3: machine().set_bus_master(false); break;
    default: machine().reset(vfio_user::ResetCause::kMachineReset);
  }
  // Half of the time another driver follows at once.
  if ((input.u8() & 1) != 0) return;
  forget_all();
  restore();
  copy_unwatched(&guest().shared(), &shared_, offsetof(SharedRegion, caps));
  for (PageSet* set : sets_) {
    for (std::size_t i = 0; i < set->pages.size(); ++i) {
      copy_unwatched(guest().ram().at(set->tables.front() + 8 * i), &set->pages[i], 8);
    }
    copy_unwatched(guest().ram().at(set->directory), set->tables.data(), 8);
  }
  guest().announce_shared();
  guest().activate();
  guest().bind_gid(0, gid_of_mac(rig_.mac(vm_)));
}

void HostileDriver::release() {
  for (PageSet* set : sets_) guest().ram().release_set(*set);
  guest().forget_everything();
}

std::vector<std::byte*> HostileDriver::pages() {
  std::vector<std::byte*> found;
  for (const PageSet* set : sets_) {
    for (const std::uint64_t page : set->pages) found.push_back(guest().ram().at(page));
  }
  return found;
}

std::vector<std::byte*> HostileDriver::doorbells() {
  std::vector<std::byte*> found;
  for (std::uint32_t i = 1; i < kContexts; ++i) {
    if (std::byte* page = machine().doorbell_page(i)) found.push_back(page);
  }
  return found;
}

std::vector<std::byte*> HostileDriver::command_pages() {
  return {guest().command_slot(), guest().response_slot(),
          guest().ram().at(guest().shared_address())};
}

}  // namespace paravane::fake
