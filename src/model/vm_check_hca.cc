// Checks whether the daemon may lock the memory for the buffers of the RDMA adapter that carries
// the channels to other hosts. When the limit is reached, channels to further hosts use TCP.

#include <fmt/core.h>

#include <algorithm>

#include "model/vm_check_rows.h"

namespace paravane::model {
namespace {

constexpr const char* kLockedMemory = "Channel: locked memory";
constexpr const char* kRaiseLimit =
    "systemctl edit paravaned   # [Service] LimitMEMLOCK=infinity, in force from the next start";

std::string shown(std::uint64_t bytes) {
  constexpr std::uint64_t kMib = 1024 * 1024;
  return bytes % kMib == 0 ? fmt::format("{} MiB", bytes / kMib)
                           : fmt::format("{} KiB", bytes / 1024);
}

std::string shown_hosts(std::uint64_t count) {
  return fmt::format("{} other host{}", count, count == 1 ? "" : "s");
}

// To which a trunk over the device is open now.
std::size_t hosts_over(const std::string& device, const Machine& machine) {
  std::size_t count = 0;
  for (const RdmaDevice& one : machine.rdma_devices) {
    if (one.linux_name == device) count += one.trunks.size();
  }
  return count;
}

}  // namespace

void check_hca_memory(const VmCheckFacts& facts, CheckRows& rows) {
  const HcaMemory& hca = facts.configuration.hca;
  if (!facts.cluster.member || hca.device.empty() || peers_of(facts).empty()) return;
  const auto others = static_cast<std::uint64_t>(std::ranges::count_if(
      facts.cluster.hosts, [&](const ClusterHost& one) { return one.name != facts.host; }));
  const std::uint64_t needed = others * hca.bytes_per_host;
  if (hca.most && needed > *hca.most) {
    return rows.warn(
        kLockedMemory,
        fmt::format("{} needs {} for channels to {}, but paravaned may lock {}: channels "
                    "for which none is left use TCP",
                    hca.device, shown(needed), shown_hosts(others), shown(*hca.most)),
        kRaiseLimit);
  }
  const std::size_t open = hosts_over(hca.device, facts.machine);
  rows.ok(kLockedMemory,
          fmt::format("{} for channels over {} to {} of {}{}; {}", shown(open * hca.bytes_per_host),
                      hca.device, open, shown_hosts(others),
                      hca.locks_vms ? ", and the memory of VMs that send long messages" : "",
                      hca.most ? "the limit is " + shown(*hca.most) : "no limit"));
}

}  // namespace paravane::model
