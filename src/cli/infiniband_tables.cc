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

std::string shown_guid(std::uint64_t guid) {
  return fmt::format("0x{:016x}", guid);
}

}  // namespace

text::TextTable ib_adapter_table(const std::vector<model::IbAdapterStatus>& adapters) {
  text::TextTable table(
      {"Name", "Device", "Bus", "Port", "State", "Rate", "LID", "SM LID", "GUID", "Problem"});
  for (const model::IbAdapterStatus& status : adapters) {
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

text::TextTable ib_link_table(const std::vector<model::IbLink>& links) {
  text::TextTable table({"Port", "Peer", "State", "Sent Packets", "Sent Bytes", "Received Packets",
                         "Received Bytes", "Dropped"});
  for (const model::IbLink& link : links) {
    table.add({std::uint64_t{link.port}, link.peer, std::string(model::to_string(link.state)),
               link.sent_packets, link.sent_bytes, link.received_packets, link.received_bytes,
               link.dropped});
  }
  return table;
}

}  // namespace paravane::cli
