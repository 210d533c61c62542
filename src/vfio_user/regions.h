// Regions handles the requests by which the VMM discovers, reads and writes the regions of the PCI
// function: six BARs and configuration space. The regions ROM and VGA exist but are empty.
//
// An access outside any region has the same result as on a PCI bus. A read returns all ones, and a
// write is ignored. There is no error response, because it would look the same to the guest, and
// because one VMM (Cloud Hypervisor) would wait forever for the data that an error response does
// not contain.
//
// The VMM keeps the MSI-X table and its pending bits. In this server, they read as zero and ignore
// writes.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <span>

#include "vfio_user/counters.h"
#include "vfio_user/function.h"
#include "vfio_user/message.h"
#include "vfio_user/version.h"

namespace paravane::vfio_user {

class Regions {
 public:
  Regions(Function& function, ServerCounters& counters)
      : function_(function), counters_(counters) {}

  // Sets the limits that the client announced.
  void set_limits(const ClientLimits& limits) { limits_ = limits; }
  const ClientLimits& limits() const { return limits_; }

  Handled info(const Request& request, Reply& reply) const;
  Handled io_fds(const Request& request, Reply& reply) const;
  Handled read(const Request& request, Reply& reply);
  Handled write(const Request& request, Reply& reply, ReplyToken token);

 private:
  std::uint64_t size_of(std::uint32_t region) const;
  bool inside(const RegionAccess& access) const;
  void read_bar(unsigned bar, std::uint64_t offset, std::span<std::byte> out);

  Function& function_;
  ServerCounters& counters_;
  ClientLimits limits_;
};

}  // namespace paravane::vfio_user
