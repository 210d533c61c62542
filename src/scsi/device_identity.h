// DeviceIdentity: the name by which a logical unit is the same one on every path, as ESXi writes
// it.
//
// It comes from page 83 of the vital product data, from designators of the logical unit alone: an
// NAA name ("naa.6001405..."), else an EUI-64 ("eui...."), else a T10 vendor identification
// ("t10.LIO-ORG_disk:..."). Of several NAA names the registered extended one (6) is taken, then 5,
// 2, and last 3, which is unique within one administration alone. Where page 83 has none of these,
// it is the serial number of page 80 behind the vendor ("t10.LIO-ORG_4711").
//
// Pure functions; any thread.

#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"

namespace paravane::scsi {

struct DeviceIdentity {
  std::string name{};

  friend bool operator==(const DeviceIdentity&, const DeviceIdentity&) = default;
};

// Page 83. Refuses designators that reach beyond the page, and names of a length that their kind
// has not. kNotFound: the page is right and names no logical unit.
Result<DeviceIdentity> parse_identification(std::span<const std::byte> bytes);

// Page 80. kNotFound: it holds no character.
Result<std::string> parse_serial(std::span<const std::byte> bytes);

// From the serial number of page 80. REQUIRES: `serial` is not empty.
DeviceIdentity identity_of_serial(const std::string& vendor, const std::string& serial);

}  // namespace paravane::scsi
