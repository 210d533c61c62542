// PciNames finds the vendor and device names of PCI functions in pci.ids. It parses the file
// without libpci, because libpci ends the process on an error, and the keeper must not end.
//
// One thread. Each name is looked up once and then remembered.

#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace paravane::keeper {

class PciNames {
 public:
  // The name of a function; empty: unknown.
  struct Name {
    std::string vendor;  // "Mellanox Technologies"
    std::string device;  // "MT27700 Family [ConnectX-4]"

    friend bool operator==(const Name&, const Name&) = default;
  };

  explicit PciNames(std::filesystem::path devices = "/sys/bus/pci/devices",
                    std::filesystem::path ids = "/usr/share/misc/pci.ids")
      : devices_(std::move(devices)), ids_(std::move(ids)) {}

  // `address`: "0000:03:00.0", or empty.
  Name find(const std::string& address) const;

 private:
  Name look_up(const std::string& vendor, const std::string& device) const;

  std::filesystem::path devices_;
  std::filesystem::path ids_;
  mutable std::map<std::string, Name> known_;  // by vendor and device, "15b3 1013"
};

}  // namespace paravane::keeper
