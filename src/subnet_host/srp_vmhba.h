// SrpVmhba: a storage adapter that module ib_srp makes of an InfiniBand port, before it has a
// number. A plain value; any thread.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paravane::subnet_host {

struct SrpVmhba {
  std::string adapter{};      // "mlx4_0"
  std::string device{};       // "MT26428"
  std::string description{};  // "ConnectX IB QDR, PCIe 2.0 5.0GT/s"
  std::uint32_t port = 0;
  std::uint64_t port_guid = 0;
  std::uint32_t index = 0;  // of those of the port (max_vmhbas), from 0
  bool is_up = false;       // the port is Active
  std::string problem{};    // why it is not

  friend bool operator==(const SrpVmhba&, const SrpVmhba&) = default;
};

struct SrpVmhbas {
  std::vector<SrpVmhba> all{};     // in the order of buses, then ports
  std::uint32_t most_targets = 0;  // of each (max_srp_targets)
};

}  // namespace paravane::subnet_host
