// Reads /sys/class/infiniband. These files come from drivers and are not trusted: values that
// cannot be read or parsed are left empty.
//
// Stateless; blocks for as long as the kernel takes.

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
  // `root`: where sysfs is mounted; of a test, a folder like it.
  explicit Sysfs(std::filesystem::path root) : root_(std::move(root)) {}

  // A row for each port, in the order of names; without its MTU.
  std::vector<Port> ports() const;

  // Without resources. Errors: kNotFound.
  Result<PortCounters> counters(const std::string& device, std::uint32_t port) const;

 private:
  Port read_port(const std::filesystem::path& device, std::uint32_t number) const;

  std::filesystem::path root_;
};

}  // namespace paravane::rdma
