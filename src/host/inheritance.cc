#include "host/inheritance.h"

#include <fmt/core.h>

#include <utility>

namespace paravane::host {
namespace {

constexpr std::string_view kLockPrefix = "lock ";
constexpr std::string_view kAdapterPrefix = "adapter ";

}  // namespace

std::string lock_parcel(std::string_view setting) {
  return fmt::format("{}{}", kLockPrefix, setting);
}

std::string adapter_parcel(const model::AdapterName& adapter) {
  return fmt::format("{}{} {}", kAdapterPrefix, adapter.vm, adapter.number);
}

Result<Inheritance> sort_estate(std::vector<privsep::Parcel> parcels) {
  Inheritance inheritance;
  for (privsep::Parcel& parcel : parcels) {
    const std::string name = parcel.name();
    bool is_new = false;
    if (name.starts_with(kAdapterPrefix)) {
      is_new = inheritance.adapters.emplace(name, std::move(parcel)).second;
    } else if (parcel.descriptors.size() == 1 && name.starts_with(kLockPrefix)) {
      is_new = inheritance.locks.emplace(name, std::move(parcel.descriptors[0])).second;
    } else if (parcel.descriptors.size() == 1 && name == kApiParcel) {
      is_new = !inheritance.api;
      inheritance.api = std::move(parcel.descriptors[0]);
    }
    if (!is_new) return fail(Errc::kInvalidArgument, "the estate is refused: parcel " + name);
  }
  return inheritance;
}

}  // namespace paravane::host
