// Shelf is what a holder holds: parcels by their names. A parcel takes the place of the one of the
// same name, and one without bytes and descriptors only removes it.
//
// One thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "privsep/parcel.h"

namespace paravane::holder {

class Shelf {
 public:
  static constexpr std::size_t kMaxParcels = 8192;
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{512} << 20;

  // One that does not fit is not held, nor is the one of its name any more. False: so it is.
  bool put(privsep::Parcel parcel);
  const std::map<std::string, privsep::Parcel, std::less<>>& parcels() const { return parcels_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::map<std::string, privsep::Parcel, std::less<>> parcels_;
  std::uint64_t bytes_ = 0;
};

}  // namespace paravane::holder
