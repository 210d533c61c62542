// Regions: the parts of the function that can be read and written, and how the VMM discovers them:
// six BARs and config space; ROM and VGA exist but are empty.
//
// An access outside any region ends as it does on a bus: reads return all ones, writes are
// dropped. An error would look the same to the guest, and one VMM (Cloud Hypervisor) waits for
// ever when such a response is short.
//
// The VMM owns the MSI-X table and its pending bits: here they read as zero and ignore writes.
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
