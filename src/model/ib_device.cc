#include "model/ib_device.h"

#include <algorithm>
#include <array>

namespace paravane::model {
namespace {

// The guide does not say which ConnectX cannot do VPI. Both rows of MT25208 have one number in its
// table; the second has a name of ours.
constexpr std::array kDevices = {
    IbDevice{"MT25408", "ConnectX IB SDR", 0x6340, 2, 10, 4096, 128, false, true},
    IbDevice{"MT25418", "ConnectX IB DDR, PCIe 2.0 2.5GT/s", 0x634A, 2, 20, 4096, 128, true, true},
    IbDevice{"MT26418", "ConnectX IB DDR, PCIe 2.0 5.0GT/s", 0x6732, 2, 20, 4096, 128, true, true},
    IbDevice{"MT26428", "ConnectX IB QDR, PCIe 2.0 5.0GT/s", 0x673C, 2, 40, 4096, 128, true, true},
    IbDevice{"MT25204", "InfiniHost III Lx HCA", 0x6274, 1, 20, 2048, 64, false, false},
    IbDevice{"MT25208", "InfiniHost III Ex (InfiniHost compatibility mode)", 0x6278, 2, 20, 2048,
             64, false, false},
    IbDevice{"MT25208-MF", "InfiniHost III Ex (Mem-free mode)", 0x6282, 2, 20, 2048, 64, false,
             false},
};

}  // namespace

std::span<const IbDevice> ib_devices() {
  return kDevices;
}

std::optional<IbDevice> find_ib_device(std::string_view name) {
  const auto* found = std::ranges::find(kDevices, name, &IbDevice::name);
  if (found == kDevices.end()) return std::nullopt;
  return *found;
}

std::string ib_device_names() {
  std::string names;
  for (const IbDevice& device : kDevices) {
    if (!names.empty()) names += ", ";
    names += device.name;
  }
  return names;
}

}  // namespace paravane::model
