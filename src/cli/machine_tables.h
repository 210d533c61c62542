// The NICs and RDMA devices of this host in the format of esxcli and esxcfg-nics. docs/esxcli.md
// describes where each value comes from.

#pragma once

#include <string>
#include <vector>

#include "model/machine.h"
#include "model/nic_dcb.h"
#include "text/text_records.h"
#include "text/text_table.h"

namespace paravane::cli {

// The output of `network nic list` in ESXi 8.0.
text::TextTable nic_table(const std::vector<model::PhysicalNic>& nics);
// The output of `network nic pauseParams list`.
text::TextTable pause_table(const std::vector<model::PhysicalNic>& nics);
// The output of `network nic dcb status get`. What the NIC's driver does not report is left out.
text::TextRecord dcb_record(const model::NicDcb& dcb);
// The output of `esxcfg-nics -l` in ESXi 6.5, which has no dashed row and shows speeds with their
// unit.
std::string esxcfg_nics(const std::vector<model::PhysicalNic>& nics);
// The output of `rdma device list`.
text::TextTable rdma_device_table(const std::vector<model::RdmaDevice>& devices);
// The output of `rdma device protocol list`.
text::TextTable rdma_protocol_table(const std::vector<model::RdmaDevice>& devices);
// The output of `rdma device stats get`. It begins with the counters that esxcli and Linux share,
// under the names of esxcli. The other counters of Linux follow under their own names.
text::TextRecord rdma_stats_record(const model::RdmaStats& stats);

}  // namespace paravane::cli
