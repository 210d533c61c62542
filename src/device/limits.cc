#include "device/limits.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>

#include "abi/registers.h"
#include "device/queues/queue_geometry.h"

namespace paravane::device {
namespace {

struct Range {
  std::string_view name;
  std::uint64_t value;
  std::uint64_t low;
  std::uint64_t high;
  bool power_of_two = false;
};

Status check(const Range& range) {
  const bool fits = range.value >= range.low && range.value <= range.high &&
                    (!range.power_of_two || std::has_single_bit(range.value));
  if (fits) return {};
  return fail(
      Errc::kInvalidArgument,
      fmt::format("{}: {} is not {} from {} to {}", range.name, range.value,
                  range.power_of_two ? "a power of two" : "a number", range.low, range.high));
}

Status check_ring_pages(const DeviceLimits& limits) {
  const std::uint64_t pages = 1 + ring_pages(limits.queue_pair_requests, send_stride(limits.sges)) +
                              ring_pages(limits.queue_pair_requests, receive_stride(limits.sges));
  if (pages <= kMaxRingPages) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("queue_pair_requests: {} requests with {} SGEs need {} ring pages, but "
                          "at most {} are allowed",
                          limits.queue_pair_requests, limits.sges, pages, kMaxRingPages));
}

// As a real adapter does it: two bytes in the middle of the MAC address.
std::uint64_t node_guid(const DeviceConfig& config) {
  const auto& mac = config.mac;
  const std::array<std::uint8_t, 8> bytes{mac[0], mac[1], mac[2], 0, 0, mac[3], mac[4], mac[5]};
  std::uint64_t guid = 0;
  for (const std::uint8_t byte : bytes) guid = guid << 8 | byte;
  return guid == 0 ? 1 : guid;
}

void set_queue_caps(const DeviceLimits& limits, abi::DeviceCaps& caps) {
  caps.max_qp.set(limits.queue_pairs);
  caps.max_qp_wr.set(limits.queue_pair_requests);
  caps.max_sge.set(limits.sges);
  caps.max_sge_rd.set(limits.sges);
  caps.max_cq.set(limits.completion_queues);
  caps.max_cqe.set(limits.completion_queue_entries);
  if (limits.shared_receive_queues > 0) {  // all zero: not offered
    caps.max_srq.set(limits.shared_receive_queues);
    caps.max_srq_wr.set(limits.shared_receive_queue_requests);
    caps.max_srq_sge.set(limits.sges);
  }
  caps.max_qp_rd_atom.set(limits.reads_outstanding);
  caps.max_qp_init_rd_atom.set(limits.reads_outstanding);
}

Status check_limits(const DeviceLimits& limits) {
  const Range ranges[] = {
      {"queue_pairs", limits.queue_pairs, 2, kMaxDriverQueuePairs},
      {"queue_pair_requests", limits.queue_pair_requests, 512, 1u << 17, true},
      {"sges", limits.sges, 2, verbs::kMaxSges, true},
      {"completion_queues", limits.completion_queues, 1, 65536},
      {"completion_queue_entries", limits.completion_queue_entries, 1024, 1u << 23, true},
      {"shared_receive_queues", limits.shared_receive_queues, 0, 65536},
      {"shared_receive_queue_requests", limits.shared_receive_queue_requests, 1, 1u << 17, true},
      {"memory_regions", limits.memory_regions, 1, (1u << 24) - 1},
      {"protection_domains", limits.protection_domains, 1, (1u << 24) - 1},
      {"address_handles", limits.address_handles, 1, 0x7FFF'FFFF},
      {"contexts", limits.contexts, 2, 65536, true},
      {"gids", limits.gids, 1, 256},
      {"reads_outstanding", limits.reads_outstanding, 1, 255},
  };
  for (const Range& range : ranges) {
    if (Status status = check(range); !status) return status;
  }
  return {};
}

// What is held may be as much as what may be created.
Status check_held(const DeviceLimits& held, const DeviceLimits& limits) {
  constexpr std::array kAll = {&DeviceLimits::queue_pairs,
                               &DeviceLimits::queue_pair_requests,
                               &DeviceLimits::sges,
                               &DeviceLimits::completion_queues,
                               &DeviceLimits::completion_queue_entries,
                               &DeviceLimits::shared_receive_queues,
                               &DeviceLimits::shared_receive_queue_requests,
                               &DeviceLimits::memory_regions,
                               &DeviceLimits::protection_domains,
                               &DeviceLimits::address_handles,
                               &DeviceLimits::contexts,
                               &DeviceLimits::gids,
                               &DeviceLimits::reads_outstanding};
  static_assert(sizeof(DeviceLimits) == kAll.size() * sizeof(std::uint32_t));
  for (const auto limit : kAll) {
    if (held.*limit < limits.*limit) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("what is held is limited to {}, and what is created to {}",
                              held.*limit, limits.*limit));
    }
  }
  return check_limits(held);
}

}  // namespace

Status check_config(const DeviceConfig& config) {
  const Range ranges[] = {
      {"version", config.version, abi::kVersionRoceV1, abi::kVersionQpHandle},
      {"active_mtu", config.active_mtu, 1, 5},
  };
  for (const Range& range : ranges) {
    if (Status status = check(range); !status) return status;
  }
  if (Status status = check_limits(config.limits); !status) return status;
  if (Status status = check_ring_pages(config.limits); !status) return status;
  return config.held ? check_held(*config.held, config.limits) : Status();
}

verbs::GidType offered_gid_type(const DeviceConfig& config) {
  return config.version == abi::kVersionRoceV1 ? verbs::GidType::kRoceV1 : config.gid_type;
}

abi::DeviceCaps make_caps(const DeviceConfig& config, const DeviceRules& rules) {
  const DeviceLimits& limits = config.limits;
  abi::DeviceCaps caps{};
  caps.fw_ver.set(std::uint64_t{1} << 32);
  caps.node_guid.set(node_guid(config));
  caps.sys_image_guid.set(node_guid(config));
  caps.max_mr_size.set(kMaxRegionBytes);
  caps.page_size_cap.set(0x1000);
  if (rules.atomics) {
    caps.atomic_arg_sizes.set(verbs::kAtomicBytes);
    caps.atomic_ops = abi::kAtomicCompareSwap | abi::kAtomicFetchAdd;
  }
  caps.bmme_flags = abi::kBmmeLocalInvalidate | abi::kBmmeRemoteInvalidate | abi::kBmmeFastRegister;
  caps.max_fast_reg_page_list_len.set(kMaxFastRegionPages);
  caps.vendor_id.set(abi::kVendorId);
  caps.vendor_part_id.set(abi::kDeviceId);
  caps.hw_ver.set(1);
  set_queue_caps(limits, caps);
  caps.max_mr.set(limits.memory_regions);
  caps.max_pd.set(limits.protection_domains);
  caps.max_ah.set(limits.address_handles);
  caps.max_uar.set(limits.contexts);
  caps.gid_tbl_len.set(limits.gids);
  caps.max_pkeys.set(1);
  caps.local_ca_ack_delay = 15;
  caps.phys_port_cnt = 1;
  caps.mode = abi::kModeRoce;
  caps.gid_types = static_cast<std::uint8_t>(offered_gid_type(config));
  return caps;
}

}  // namespace paravane::device
