#include "transport/hca/registered_memory.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "guestmem/payload_io.h"

namespace paravane::transport_hca {

// forget() may not have been called for an earlier VM with the same adapter ID.
RegisteredMemory::Vm& RegisteredMemory::vm_of(verbs::Adapter& adapter) {
  std::shared_ptr<Vm>& vm = vms_[adapter.id()];
  if (vm == nullptr || vm->memory != &adapter.memory()) {
    if (vm != nullptr) drop(*vm);
    vm = std::make_shared<Vm>(weak_from_this(), adapter.memory());
    adapter.memory().watch_mappings(vm);
  }
  return *vm;
}

bool RegisteredMemory::reaches(verbs::Adapter& adapter, const ExtentList& extents) {
  Vm& vm = vm_of(adapter);
  if (vm.wanted != 0) return false;
  if (vm.is_good && covers(vm, extents)) return true;
  if (!vm.is_good || vm.files != adapter.memory().usage().files) {
    drop(vm);
    want(adapter, vm);
  }
  return false;
}

void RegisteredMemory::want(verbs::Adapter& adapter, Vm& vm) {
  vm.files = adapter.memory().usage().files;
  vm.wanted = ++wishes_;
  acts_.make({.number = vm.wanted, .files = adapter.memory().writable_files()});
}

// No lane uses it any more: what was lent was recalled before the memory changed.
void RegisteredMemory::drop(Vm& vm) {
  vm.wanted = 0;
  vm.is_good = false;
  if (!vm.regions.empty()) acts_.end(std::exchange(vm.regions, {}));
}

void RegisteredMemory::take(Made made) {
  const auto found = std::ranges::find_if(
      vms_, [&](const auto& one) { return one.second->wanted == made.wanted.number; });
  if (found == vms_.end()) return acts_.end(std::move(made.regions));
  Vm& vm = *found->second;
  vm.wanted = 0;
  vm.is_good = true;
  vm.regions = std::move(made.regions);
}

void RegisteredMemory::forget(verbs::AdapterId adapter) {
  const auto vm = vms_.find(adapter);
  if (vm == vms_.end()) return;
  drop(*vm->second);
  vms_.erase(vm);
}

transport_channel::MemoryState RegisteredMemory::state_of(verbs::AdapterId adapter) const {
  using enum transport_channel::MemoryState;
  const auto found = vms_.find(adapter);
  if (found == vms_.end()) return kNotWanted;
  const Vm& vm = *found->second;
  if (!vm.is_good) return vm.wanted != 0 ? kPreparing : kNotWanted;
  return vm.regions.empty() ? kRefused : kRegistered;
}

const RegisteredMemory::Region* RegisteredMemory::region_of(const Vm& vm,
                                                            std::span<const std::byte> bytes) {
  const auto found = std::ranges::find_if(vm.regions, [bytes](const Region& region) {
    const std::byte* begin = region.bytes.data();
    const std::byte* end = begin + region.bytes.size();
    return std::less_equal()(begin, bytes.data()) &&
           std::less_equal()(bytes.data() + bytes.size(), end);
  });
  return found != vm.regions.end() ? &*found : nullptr;
}

bool RegisteredMemory::covers(const Vm& vm, const ExtentList& extents) {
  scratch_.clear();
  list_lent(extents, scratch_);
  return std::ranges::all_of(scratch_,
                             [&vm](const auto& bytes) { return region_of(vm, bytes) != nullptr; });
}

void RegisteredMemory::find(verbs::AdapterId adapter, const ExtentList& extents,
                            std::vector<LanePlace>& places) {
  const Vm& vm = *vms_.at(adapter);
  scratch_.clear();
  list_lent(extents, scratch_);
  places.clear();
  for (const std::span<std::byte> bytes : scratch_) {
    places.push_back({.bytes = bytes, .key = region_of(vm, bytes)->registration->key()});
  }
}

}  // namespace paravane::transport_hca
