#include "keeper/pci_names.h"

#include <algorithm>
#include <fstream>
#include <string_view>

namespace paravane::keeper {
namespace {

constexpr std::size_t kIdDigits = 4;
constexpr std::size_t kMaxName = 100;

// "0x15b3" without what stands before it; empty: that is none.
std::string read_id(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string text;
  in >> text;
  return text.starts_with("0x") && text.size() == 2 + kIdDigits ? text.substr(2) : std::string();
}

// "15b3  Mellanox Technologies"; empty: the line is of another.
std::string name_of(std::string_view line, std::string_view id) {
  if (!line.starts_with(id) || line.substr(kIdDigits, 2) != "  ") return {};
  return std::string(line.substr(kIdDigits + 2, kMaxName));
}

}  // namespace

PciNames::Name PciNames::find(const std::string& address) const {
  if (address.empty()) return {};
  const std::string vendor = read_id(devices_ / address / "vendor");
  const std::string device = read_id(devices_ / address / "device");
  if (vendor.empty() || device.empty()) return {};
  const auto [known, fresh] = known_.try_emplace(vendor + " " + device);
  if (fresh) known->second = look_up(vendor, device);
  return known->second;
}

// A vendor's line begins with its number; those of its devices follow, after a tab each.
PciNames::Name PciNames::look_up(const std::string& vendor, const std::string& device) const {
  std::ifstream in(ids_);
  Name name;
  for (std::string line; std::getline(in, line);) {
    if (name.vendor.empty()) {
      name.vendor = name_of(line, vendor);
      continue;
    }
    if (line.empty() || line.front() != '\t') break;
    name.device = name_of(std::string_view(line).substr(1), device);
    if (!name.device.empty()) break;
  }
  return name;
}

}  // namespace paravane::keeper
