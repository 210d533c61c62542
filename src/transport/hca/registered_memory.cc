#include "transport/hca/registered_memory.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "guestmem/payload_io.h"

namespace paravane::transport_hca {

bool RegisteredMemory::reaches(verbs::Adapter& adapter, const ExtentList& extents) {
  Vm& vm = vms_[adapter.id()];
  if (vm.age != adapter.memory().mapping_age()) {
    drop(vm);
    want(adapter, vm);
    return false;
  }
  if (covers(vm, extents)) return true;
  if (!vm.is_wanted && vm.files != adapter.memory().usage().files) {
    drop(vm);
    want(adapter, vm);
  }
  return false;
}

void RegisteredMemory::want(verbs::Adapter& adapter, Vm& vm) {
  if (vm.memory == nullptr) {
    adapter.memory().watch_mappings(weak_from_this());
    vm.memory = &adapter.memory();
  }
  vm.age = adapter.memory().mapping_age();
  vm.files = adapter.memory().usage().files;
  vm.is_wanted = true;
  acts_.make({.adapter = adapter.id(), .age = vm.age, .files = adapter.memory().writable_files()});
}

// No lane uses it any more: what was lent was recalled before the memory changed.
void RegisteredMemory::drop(Vm& vm) {
  if (!vm.regions.empty()) acts_.end(std::exchange(vm.regions, {}));
}

void RegisteredMemory::take(Made made) {
  const auto vm = vms_.find(made.wanted.adapter);
  if (vm == vms_.end() || vm->second.age != made.wanted.age || !vm->second.is_wanted) {
    return acts_.end(std::move(made.regions));
  }
  vm->second.is_wanted = false;
  if (vm->second.memory->mapping_age() != made.wanted.age) {  // unmapped meanwhile
    return acts_.end(std::move(made.regions));
  }
  vm->second.regions = std::move(made.regions);
}

void RegisteredMemory::forget(verbs::AdapterId adapter) {
  const auto vm = vms_.find(adapter);
  if (vm == vms_.end()) return;
  drop(vm->second);
  vms_.erase(vm);
}

transport_channel::MemoryState RegisteredMemory::state_of(verbs::AdapterId adapter) const {
  using enum transport_channel::MemoryState;
  const auto vm = vms_.find(adapter);
  if (vm == vms_.end()) return kNotWanted;
  if (vm->second.is_wanted) return kPreparing;
  return vm->second.regions.empty() ? kRefused : kRegistered;
}

void RegisteredMemory::on_mapping_age_ended() {
  for (auto& [adapter, vm] : vms_) {
    if (vm.memory != nullptr && vm.age != vm.memory->mapping_age()) drop(vm);
  }
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
  const Vm& vm = vms_.at(adapter);
  scratch_.clear();
  list_lent(extents, scratch_);
  places.clear();
  for (const std::span<std::byte> bytes : scratch_) {
    places.push_back({.bytes = bytes, .key = region_of(vm, bytes)->registration->key()});
  }
}

}  // namespace paravane::transport_hca
