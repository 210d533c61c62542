// NICs and RDMA devices as esxcli prints them; docs/esxcli.md says where each value comes
// from.

#pragma once

#include <string>
#include <vector>

#include "model/machine.h"
#include "text/text_records.h"
#include "text/text_table.h"

namespace paravane::cli {

// network nic list, of 8.0.
text::TextTable nic_table(const std::vector<model::PhysicalNic>& nics);
// esxcfg-nics -l, of 6.5: no dashed row, and speeds with their unit.
std::string esxcfg_nics(const std::vector<model::PhysicalNic>& nics);
// rdma device list.
text::TextTable rdma_device_table(const std::vector<model::RdmaDevice>& devices);
// rdma device protocol list.
text::TextTable rdma_protocol_table(const std::vector<model::RdmaDevice>& devices);
// rdma device stats get: with esxcli's words what Linux counts too, then all else that it
// counts by its own.
text::TextRecord rdma_stats_record(const model::RdmaStats& stats);

}  // namespace paravane::cli
