// Sysfs reads the RDMA devices of this host from /sys/class/infiniband. Drivers write these files,
// so their contents are not trusted. A value that cannot be read or parsed is left empty.
//
// Any thread. Calls block until the kernel responds.

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "rdma/device.h"

namespace paravane::rdma {

class Sysfs {
 public:
  // `root`: where sysfs is mounted; in a test, a folder of the same layout.
  explicit Sysfs(std::filesystem::path root) : root_(std::move(root)) {}

  // Returns all ports, without their MTU and what the GID table says, in the order of names.
  std::vector<Port> ports() const;

  // Sets the protocols, and `net_device` if it is empty, from the GID table. This opens a file for
  // each entry, used or not: libibverbs reads the table by one call (port_verbs.h).
  void read_gids(Port& port) const;

  // Without resources. Errors: kNotFound.
  Result<PortCounters> counters(const std::string& device, std::uint32_t port) const;

 private:
  Port read_port(const std::filesystem::path& device, std::uint32_t number) const;
  std::filesystem::path folder_of(const std::string& device, std::uint32_t port) const;

  std::filesystem::path root_;
};

}  // namespace paravane::rdma
