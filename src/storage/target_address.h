// TargetAddress: where a vmhba logs in, and how. A plain value; any thread.

#pragma once

#include <cstdint>
#include <string>

#include "srp/port_id.h"
#include "verbs/types.h"

namespace paravane::storage {

struct TargetAddress {
  verbs::Gid gid;
  // By InfiniBand's connection manager: the service ID. By RDMA's: that of the port.
  std::uint64_t service = 0;
  bool is_by_rdma = false;
  std::uint64_t id_ext = 0;
  std::uint64_t ioc_guid = 0;
  std::uint16_t io_class = 0x0100;  // SRP revision 16a

  srp::PortId port_id() const { return srp::target_port_id(id_ext, ioc_guid, io_class); }
  // Whether a login at one of them ends that at the other: they differ in the way there, at most.
  bool is_same_target(const TargetAddress& other) const {
    return gid == other.gid && port_id() == other.port_id();
  }
  friend auto operator<=>(const TargetAddress&, const TargetAddress&) = default;
};

}  // namespace paravane::storage
