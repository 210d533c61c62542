#include "host/inheritance.h"

#include <fmt/core.h>

#include <charconv>
#include <utility>

namespace paravane::host {
namespace {

constexpr std::string_view kLockPrefix = "lock ";
constexpr std::string_view kAdapterPrefix = "adapter ";

constexpr std::uint64_t kMaxNumber = 20;  // digits

// It only makes a figure of the status.
std::int64_t read_frozen(const privsep::Parcel& parcel) {
  const auto bytes = parcel.read();
  std::int64_t number = 0;
  if (!bytes) return 0;
  const auto* text = reinterpret_cast<const char*>(bytes->data());
  std::from_chars(text, text + bytes->size(), number);
  return number;
}

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
    } else if (parcel.bytes() <= kMaxNumber && name == kFrozenParcel) {
      is_new = inheritance.frozen_at == 0;
      inheritance.frozen_at = read_frozen(parcel);
    } else if (name == kSubnetParcel && !inheritance.subnet) {
      is_new = true;
      inheritance.subnet = std::move(parcel);
    } else if (parcel.descriptors.size() == 1 && name == kApiParcel) {
      is_new = !inheritance.api;
      inheritance.api = std::move(parcel.descriptors[0]);
    }
    if (!is_new) return fail(Errc::kInvalidArgument, "the estate is refused: parcel " + name);
  }
  return inheritance;
}

}  // namespace paravane::host
