#include "cli/infiniband_tables.h"

#include <fmt/core.h>

#include "text/text_cell.h"

namespace paravane::cli {
namespace {

// 0: none was given.
text::TextTable::Cell lid_cell(std::uint32_t lid) {
  if (lid == 0) return text::TextTable::None();
  return std::uint64_t{lid};
}

// The least of the partitions, which holds for packets that may go to any.
text::TextTable::Cell mtu_cell(const model::IbUplink& uplink) {
  std::uint32_t least = 0;
  for (const model::IbUplinkPartition& partition : uplink.partitions) {
    if (partition.key != 0 && (least == 0 || partition.mtu < least)) least = partition.mtu;
  }
  if (least == 0) return text::TextTable::None();
  return std::uint64_t{least};
}

text::TextTable::Cell partitions_cell(const model::IbUplink& uplink) {
  std::string text;
  for (const model::IbUplinkPartition& partition : uplink.partitions) {
    if (partition.key == 0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("0x{:04x}", partition.key);
    if (partition.vlan != 0) text += fmt::format(" (VLAN {})", partition.vlan);
  }
  if (text.empty()) return text::TextTable::None();
  return text;
}

std::string problems_of(const model::IbUplink& uplink) {
  std::string text = uplink.problem;
  for (const model::IbUplinkPartition& partition : uplink.partitions) {
    if (partition.problem.empty()) continue;
    if (!text.empty()) text += "; ";
    text += partition.problem;
  }
  return text;
}

std::string shown_guid(std::uint64_t guid) {
  return fmt::format("0x{:016x}", guid);
}

}  // namespace

text::TextTable ib_adapter_table(const std::vector<model::IbAdapterStatus>& adapters) {
  text::TextTable table(
      {"Name", "Device", "Bus", "Port", "State", "Rate", "LID", "SM LID", "GUID", "Problem"});
  for (const model::IbAdapterStatus& status : adapters) {
    if (status.ports.empty()) {
      const text::TextTable::Cell none = text::TextTable::None();
      table.add({status.adapter.name, status.adapter.device, std::uint64_t{status.adapter.bus},
                 none, none, none, none, none, none, status.problem});
    }
    for (const model::IbPort& port : status.ports) {
      table.add({status.adapter.name, status.adapter.device, std::uint64_t{status.adapter.bus},
                 std::uint64_t{port.number}, std::string(model::to_string(port.state)),
                 fmt::format("{} Gbps", port.rate_gbps), lid_cell(port.lid), lid_cell(port.sm_lid),
                 shown_guid(port.guid), port.problem});
    }
  }
  return table;
}

std::string ib_switch_line(const model::IbFabric& fabric) {
  const std::string lid =
      fabric.switch_lid == 0 ? "no LID" : fmt::format("LID {}", fabric.switch_lid);
  const std::string manager = fabric.sm_lid == 0
                                  ? "no subnet manager"
                                  : fmt::format("subnet manager at LID {}", fabric.sm_lid);
  return fmt::format("Switch {} of host {}: {}, {}\n", shown_guid(fabric.switch_guid),
                     text::printable(fabric.host), lid, manager);
}

text::TextTable ib_uplink_table(const std::vector<model::IbUplink>& uplinks) {
  text::TextTable table({"Device", "Adapter", "Port", "Speed", "vSwitch", "MTU", "Partitions",
                         "Addresses", "Problem"});
  for (const model::IbUplink& uplink : uplinks) {
    table.add({uplink.name, uplink.adapter, std::uint64_t{uplink.port},
               uplink.rate_gbps == 0
                   ? text::TextTable::Cell(std::string("down"))
                   : text::TextTable::Cell(std::uint64_t{uplink.rate_gbps} * 1000),
               uplink.vds.empty() ? text::TextTable::None() : text::TextTable::Cell(uplink.vds),
               mtu_cell(uplink), partitions_cell(uplink), std::uint64_t{uplink.addresses},
               problems_of(uplink)});
  }
  return table;
}

text::TextTable ib_link_table(const std::vector<model::IbLink>& links) {
  text::TextTable table({"Port", "Peer", "State", "Sent Packets", "Sent Bytes", "Received Packets",
                         "Received Bytes", "Dropped", "Problem"});
  for (const model::IbLink& link : links) {
    table.add({std::uint64_t{link.port}, link.peer, std::string(model::to_string(link.state)),
               link.sent_packets, link.sent_bytes, link.received_packets, link.received_bytes,
               link.dropped, link.problem});
  }
  return table;
}

text::TextTable ib_manager_table(const std::vector<model::IbManager>& managers) {
  text::TextTable table({"Host", "Problem"});
  for (const model::IbManager& manager : managers) table.add({manager.host, manager.problem});
  return table;
}

}  // namespace paravane::cli
