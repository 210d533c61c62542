// NicDcb describes the Data Center Bridging of a NIC, as vSphere's `network nic dcb status` does:
// the bandwidth of each traffic class (ETS, IEEE 802.1Qaz), and the priorities that are paused
// alone (PFC, IEEE 802.1Qbb). The values are those of the NIC's driver.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paravane::model {

inline constexpr std::size_t kDcbClasses = 8;
// The maximum number of rules for protocols; further ones are not reported.
inline constexpr std::size_t kMaxDcbApps = 256;

// Of each traffic class, or of each priority.
using DcbBytes = std::array<std::uint8_t, kDcbClasses>;
using DcbCounts = std::array<std::uint64_t, kDcbClasses>;

// The protocol by which both ends of a cable agree on these settings.
enum class DcbxMode : std::uint8_t { kUnknown, kCee, kIeee };
std::string_view to_string(DcbxMode mode);
std::optional<DcbxMode> parse_dcbx_mode(std::string_view text);

struct DcbEts {
  bool willing = false;  // takes over what the other end recommends
  std::uint8_t classes = 0;
  bool credit_based_shaper = false;
  DcbBytes tx_percent{};
  DcbBytes rx_percent{};
  DcbBytes algorithms{};  // of selection: 0 strict, 1 credit based, 2 ETS
  DcbBytes class_of_priority{};
  DcbBytes recommended_percent{};
  DcbBytes recommended_algorithms{};
  DcbBytes recommended_class_of_priority{};

  friend bool operator==(const DcbEts&, const DcbEts&) = default;
};

struct DcbPfc {
  std::uint8_t classes = 0;     // that may have it at once; 0: not reported
  std::uint8_t priorities = 0;  // bit 0: priority 0
  bool bypasses_macsec = false;
  std::uint16_t delay = 0;  // of the link, in bit times
  DcbCounts sent{};         // frames that paused a priority of the other end
  DcbCounts received{};

  friend bool operator==(const DcbPfc&, const DcbPfc&) = default;
};

// The kind of protocol that has a priority.
enum class DcbSelector : std::uint8_t { kUnknown, kEthertype, kTcp, kUdp, kAnyPort, kDscp };
std::string_view to_string(DcbSelector selector);
std::optional<DcbSelector> parse_dcb_selector(std::string_view text);

struct DcbApp {
  DcbSelector selector = DcbSelector::kUnknown;
  std::uint16_t protocol = 0;  // an EtherType, a port or a DSCP
  std::uint8_t priority = 0;

  friend bool operator==(const DcbApp&, const DcbApp&) = default;
};

struct NicDcb {
  std::string name{};  // "vmnic4"
  DcbxMode mode = DcbxMode::kUnknown;
  bool managed_by_host = false;  // false: by the NIC's firmware, or not reported
  std::optional<DcbEts> ets{};   // nullopt: not reported
  std::optional<DcbPfc> pfc{};
  std::vector<DcbApp> apps{};

  friend bool operator==(const NicDcb&, const NicDcb&) = default;
};

// "3, 4": the priorities of the bits that are set.
std::string shown_priorities(std::uint8_t priorities);

}  // namespace paravane::model
