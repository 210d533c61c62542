#include "guestmem/memory_failure.h"

#include <linux/mman.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include "guestmem/memory_failure_table.h"

namespace paravane {

static_assert(std::atomic<bool>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Enough for hundreds of VMs with a handful of files each, and no VM may have
// more than its limit (GuestMemory::Limits::files).
struct FailureTable {
  using Slot = FailureWatch::Slot;

  std::array<Slot, 8192> slots;
  std::atomic<std::size_t> searched{0};  // slots from here on were never used
  std::atomic<bool> installed{false};
  struct sigaction before{};  // written once, before the handler can run

  // The entry that holds `address`, or null.
  Slot* find(std::uintptr_t address) {
    const std::size_t end = searched.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < end; ++i) {
      Slot& slot = slots[i];
      const std::uint32_t version = slot.version.load(std::memory_order_acquire);
      const std::uintptr_t start = slot.start.load(std::memory_order_acquire);
      const std::uint64_t size = slot.size.load(std::memory_order_acquire);
      const bool stable =
          version % 2 == 0 && slot.version.load(std::memory_order_relaxed) == version;
      if (stable && address >= start && address - start < size) return &slot;
    }
    return nullptr;
  }
};

namespace {

FailureTable table;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): see the header

void* to_address(std::uintptr_t value) {
  return reinterpret_cast<void*>(value);  // NOLINT(performance-no-int-to-ptr): the kernel's
}

// The plain system call: allowed in a signal handler, and the sanitizers'
// wrappers are not.
void* map_zero_pages(void* where, std::uint64_t size, int how) {
  const long result = syscall(SYS_mmap, where, size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | how, -1, 0);
  return to_address(static_cast<std::uintptr_t>(result));  // -1 is MAP_FAILED
}

// Zero pages over the whole mapping. Made elsewhere and moved, because a mapping
// that is refused (strict overcommit, address limit) must leave the old one.
bool replace_whole(std::uintptr_t start, std::uint64_t size) {
  void* fresh = map_zero_pages(nullptr, size, 0);
  if (fresh == MAP_FAILED) return false;
  const long moved = syscall(SYS_mremap, fresh, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, start);
  if (moved != -1) return true;
  syscall(SYS_munmap, fresh, size);
  return false;
}

bool repair(std::uintptr_t address) {
  FailureTable::Slot* slot = table.find(address);
  if (slot == nullptr) return false;
  const std::uintptr_t start = slot->start.load(std::memory_order_relaxed);
  const std::uint64_t size = slot->size.load(std::memory_order_relaxed);
  const std::uint64_t page_bytes = slot->page_bytes.load(std::memory_order_relaxed);
  slot->failed.store(true, std::memory_order_release);
  if (replace_whole(start, size)) return true;
  // Not even address space for that: one page at a time, one signal each.
  const std::uintptr_t page = address & ~(page_bytes - 1);
  return map_zero_pages(to_address(page), page_bytes, MAP_FIXED) != MAP_FAILED;
}

void on_bus_error(int signal, siginfo_t* info, void* /*context*/) {
  const int saved_errno = errno;
  const bool from_kernel = info->si_code > 0;
  if (!from_kernel || !repair(reinterpret_cast<std::uintptr_t>(info->si_addr))) {
    sigaction(SIGBUS, &table.before, nullptr);
    // A faulting access is made again when we return, and fails as it would
    // have without us; everything else has to be sent again.
    const bool comes_again = from_kernel && info->si_code != BUS_MCEERR_AO;
    if (!comes_again) raise(signal);
  }
  errno = saved_errno;
}

}  // namespace

Status install_memory_failure_handler() {
  if (table.installed.exchange(true)) return {};
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  // Not blocked while it runs: a failure inside must end the process, not hang it.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGBUS, nullptr, &table.before) != 0 || sigaction(SIGBUS, &action, nullptr) != 0) {
    const std::error_code error(errno, std::generic_category());
    table.installed = false;
    return fail(Errc::kIo, "cannot install the SIGBUS handler: " + error.message());
  }
  return {};
}

FailureWatch FailureWatch::begin(const Mapping& mapping) {
  for (std::size_t i = 0; i < table.slots.size(); ++i) {
    Slot& slot = table.slots[i];
    bool expected = false;
    if (!slot.used.compare_exchange_strong(expected, true)) continue;
    slot.failed.store(false, std::memory_order_relaxed);
    store(slot, mapping);
    std::size_t searched = table.searched.load();
    while (searched < i + 1 && !table.searched.compare_exchange_weak(searched, i + 1)) {
    }
    return FailureWatch(&slot);
  }
  return {};
}

void FailureWatch::move_to(const Mapping& mapping) {
  store(*slot_, mapping);
}

void FailureWatch::store(Slot& slot, const Mapping& mapping) {
  const std::uint32_t version = slot.version.load(std::memory_order_relaxed);
  slot.version.store(version + 1, std::memory_order_seq_cst);
  slot.start.store(reinterpret_cast<std::uintptr_t>(mapping.start), std::memory_order_seq_cst);
  slot.size.store(mapping.size, std::memory_order_seq_cst);
  slot.page_bytes.store(mapping.page_bytes, std::memory_order_seq_cst);
  slot.version.store(version + 2, std::memory_order_seq_cst);
}

void FailureWatch::end() {
  if (slot_ == nullptr) return;
  store(*slot_, {});
  slot_->used.store(false, std::memory_order_release);
  slot_ = nullptr;
}

}  // namespace paravane
