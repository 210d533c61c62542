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
  if (covers(extents)) return true;
  if (!vm.is_wanted && vm.files != adapter.memory().usage().files) {
    drop(vm);
    want(adapter, vm);
  }
  return false;
}

void RegisteredMemory::want(verbs::Adapter& adapter, Vm& vm) {
  vm.age = adapter.memory().mapping_age();
  vm.files = adapter.memory().usage().files;
  vm.is_wanted = true;
  acts_.make({.adapter = adapter.id(), .age = vm.age, .files = adapter.memory().writable_files()});
}

// No lane uses it any more: what was lent was recalled before the memory changed.
void RegisteredMemory::drop(Vm& vm) {
  for (const Region& region : vm.regions) regions_.erase(region.bytes.data());
  if (!vm.regions.empty()) acts_.end(std::exchange(vm.regions, {}));
}

void RegisteredMemory::take(Made made) {
  const auto vm = vms_.find(made.wanted.adapter);
  if (vm == vms_.end() || vm->second.age != made.wanted.age || !vm->second.is_wanted) {
    return acts_.end(std::move(made.regions));
  }
  vm->second.is_wanted = false;
  vm->second.regions = std::move(made.regions);
  for (const Region& region : vm->second.regions) regions_[region.bytes.data()] = &region;
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

const RegisteredMemory::Region* RegisteredMemory::region_of(
    std::span<const std::byte> bytes) const {
  auto after = regions_.upper_bound(bytes.data());
  if (after == regions_.begin()) return nullptr;
  const Region* region = std::prev(after)->second;
  const std::byte* end = region->bytes.data() + region->bytes.size();
  const bool holds = std::less_equal()(bytes.data() + bytes.size(), end);
  return holds ? region : nullptr;
}

bool RegisteredMemory::covers(const ExtentList& extents) {
  scratch_.clear();
  list_lent(extents, scratch_);
  return std::ranges::all_of(scratch_,
                             [this](const auto& bytes) { return region_of(bytes) != nullptr; });
}

void RegisteredMemory::find(const ExtentList& extents, std::vector<LanePlace>& places) {
  scratch_.clear();
  list_lent(extents, scratch_);
  places.clear();
  for (const std::span<std::byte> bytes : scratch_) {
    places.push_back({.bytes = bytes, .key = region_of(bytes)->registration->key()});
  }
}

}  // namespace paravane::transport_hca
