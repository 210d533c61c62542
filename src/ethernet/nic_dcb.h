// read_dcb(): Data Center Bridging of a NIC, as its driver reports it through rtnetlink. These are
// the bandwidth of each traffic class (ETS) and the priorities that are paused alone (PFC).
//
// Blocks until the driver responds. One thread. Source: IEEE 802.1Qaz and 802.1Qbb.

#pragma once

#include <linux/netlink.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace paravane::ethernet {

// Of each traffic class, or of each priority.
using DcbBytes = std::array<std::uint8_t, 8>;

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
  std::array<std::uint64_t, 8> sent{};
  std::array<std::uint64_t, 8> received{};

  friend bool operator==(const DcbPfc&, const DcbPfc&) = default;
};

// Which priority a protocol has.
struct DcbApp {
  std::uint8_t selector = 0;   // the kind of `protocol`: IEEE_8021QAZ_APP_SEL_*
  std::uint16_t protocol = 0;  // an EtherType, a port or a DSCP
  std::uint8_t priority = 0;

  friend bool operator==(const DcbApp&, const DcbApp&) = default;
};

struct NicDcb {
  std::uint8_t dcbx = 0;  // the bits DCB_CAP_DCBX_* of <linux/dcbnl.h>; 0: not reported
  std::optional<DcbEts> ets{};
  std::optional<DcbPfc> pfc{};
  std::vector<DcbApp> apps{};

  friend bool operator==(const NicDcb&, const NicDcb&) = default;
};

// Errors: kUnsupported (the driver or the kernel has no DCB), kIo.
Result<NicDcb> read_dcb(const std::string& nic);

// Adds what one answer of the kernel says. Attributes of other lengths are left out.
void add_dcb_answer(nlmsghdr* answer, NicDcb& dcb);

}  // namespace paravane::ethernet
