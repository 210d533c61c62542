// Regions: what can be read and written of the function, and how the VMM learns
// of it: six BARs and config space; ROM and VGA exist but are empty.
//
// An access that leads nowhere ends as on a bus: reads give all ones, writes
// are dropped. Errors would reach the guest as the same thing, and one VMM
// (Cloud Hypervisor) waits for ever when such an answer is short.
//
// The MSI-X table and its pending bits are the VMM's: here they read as zero
// and swallow writes.
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

  // What the client said of itself.
  void set_limits(const ClientLimits& limits) { limits_ = limits; }

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
