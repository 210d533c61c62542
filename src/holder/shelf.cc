#include "holder/shelf.h"

#include <utility>

namespace paravane::holder {

bool Shelf::put(privsep::Parcel parcel) {
  if (const auto old = parcels_.find(parcel.name()); old != parcels_.end()) {
    bytes_ -= old->second.bytes();
    parcels_.erase(old);
  }
  if (parcel.bytes() == 0 && parcel.descriptors.empty()) return true;
  if (parcels_.size() >= kMaxParcels || parcel.bytes() > kMaxBytes - bytes_) return false;
  bytes_ += parcel.bytes();
  std::string name = parcel.name();
  parcels_.emplace(std::move(name), std::move(parcel));
  return true;
}

}  // namespace paravane::holder
