// NICs and RDMA devices as esxcli prints them; docs/esxcli.md says where each value comes
// from.

#pragma once

#include <string>
#include <vector>

#include "control/machine.h"
#include "control/text_records.h"
#include "control/text_table.h"

namespace paravane::cli {

// network nic list, of 8.0.
control::TextTable nic_table(const std::vector<control::PhysicalNic>& nics);
// esxcfg-nics -l, of 6.5: no dashed row, and speeds with their unit.
std::string esxcfg_nics(const std::vector<control::PhysicalNic>& nics);
// rdma device list.
control::TextTable rdma_device_table(const std::vector<control::RdmaDevice>& devices);
// rdma device protocol list.
control::TextTable rdma_protocol_table(const std::vector<control::RdmaDevice>& devices);
// rdma device stats get: with esxcli's words what Linux counts too, then all else that it
// counts by its own.
control::TextRecord rdma_stats_record(const control::RdmaStats& stats);

}  // namespace paravane::cli
