#include "cli/machine_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <optional>
#include <set>
#include <string_view>

namespace paravane::cli {

using model::PhysicalNic;
using model::RdmaDevice;

namespace {

// What is not on PCI, as vSphere calls it.
std::string shown_pci(const model::PhysicalNic& nic) {
  return nic.pci.empty() ? "Pseudo" : nic.pci;
}

std::string up_or_down(bool up) {
  return up ? "Up" : "Down";
}

std::string duplex(const model::PhysicalNic& nic) {
  return nic.full_duplex ? "Full" : "Half";
}

// "100 Gbps", "2.5 Gbps"; without a link "0", as vSphere has it.
std::string shown_speed(const model::RdmaDevice& device) {
  const bool linked = device.state != model::RdmaState::kDown && device.speed_mbps != 0;
  return linked ? fmt::format("{:g} Gbps", device.speed_mbps / 1000.0) : "0";
}

// "trunk h2, h3; uplink of lan".
std::string shown_uses(const model::RdmaDevice& device) {
  std::vector<std::string> uses;
  if (!device.trunks.empty()) {
    uses.push_back(fmt::format("trunk {}", fmt::join(device.trunks, ", ")));
  }
  if (!device.uplink_of.empty()) uses.push_back("uplink of " + device.uplink_of);
  return uses.empty() ? "-" : fmt::format("{}", fmt::join(uses, "; "));
}

// A line of esxcli's, and the counters of Linux that it may come from, by `unit`.
struct StatsLine {
  const char* title;
  std::array<std::string_view, 2> names;  // of the port, and of a device that is a program
  std::uint64_t unit = 1;
};

constexpr std::array kLines = std::to_array<StatsLine>({
    {"Packets received", {"port_rcv_packets", "rcvd_pkts"}},
    {"Packets sent", {"port_xmit_packets", "sent_pkts"}},
    {"Bytes received", {"port_rcv_data", ""}, 4},  // counted in words
    {"Bytes sent", {"port_xmit_data", ""}, 4},
    {"Error packets received", {"port_rcv_errors", ""}},
    {"Error packets sent", {"port_xmit_discards", "send_err"}},
    {"Unicast packets received", {"unicast_rcv_packets", ""}},
    {"Unicast packets sent", {"unicast_xmit_packets", ""}},
    {"Multicast packets received", {"multicast_rcv_packets", ""}},
    {"Multicast packets sent", {"multicast_xmit_packets", ""}},
});

constexpr std::array kResources = std::to_array<std::pair<std::string_view, const char*>>({
    {"qp", "Queue pairs allocated"},
    {"cq", "Completion queues allocated"},
    {"srq", "Shared receive queues allocated"},
    {"pd", "Protection domains allocated"},
    {"mr", "Memory regions allocated"},
    {"ctx", "Contexts allocated"},
    {"cm_id", "Connection identifiers allocated"},
});

std::optional<std::uint64_t> find_counter(const model::RdmaStats& stats, std::string_view name) {
  for (const auto* counters : {&stats.counters, &stats.hw_counters}) {
    const auto found = counters->find(std::string(name));
    if (found != counters->end()) return found->second;
  }
  return std::nullopt;
}

std::string_view shown_mode(model::DcbxMode mode) {
  switch (mode) {
    case model::DcbxMode::kIeee: return "IEEE Mode";
    case model::DcbxMode::kCee: return "CEE Mode";
    case model::DcbxMode::kUnknown: break;
  }
  return "Unknown Mode";
}

// "0 0 0 1 0 0 0 0", as esxcli shows values of classes and priorities.
template <typename T>
std::string eight(const std::array<T, model::kDcbClasses>& values) {
  return fmt::format("{}", fmt::join(values, " "));
}

std::string priority_bits(std::uint8_t priorities) {
  std::array<unsigned, model::kDcbClasses> bits{};
  for (std::size_t i = 0; i < bits.size(); ++i) bits.at(i) = priorities >> i & 1U;
  return eight(bits);
}

std::vector<text::TextRecord> capabilities(const model::NicDcb& dcb) {
  text::TextRecord record{.title = "",
                          .fields = {{"Priority Group", dcb.ets.has_value()},
                                     {"Priority Flow Control", dcb.pfc.has_value()}}};
  if (dcb.ets) record.fields.emplace_back("PG Traffic Classes", std::uint64_t{dcb.ets->classes});
  if (dcb.pfc) record.fields.emplace_back("PFC Traffic Classes", std::uint64_t{dcb.pfc->classes});
  return {std::move(record)};
}

std::vector<text::TextRecord> ets_records(const model::DcbEts& ets) {
  return {{.title = "",
           .fields = {{"Willing Bit In ETS Config TLV", std::uint64_t{ets.willing}},
                      {"Supported Capacity", std::uint64_t{ets.classes}},
                      {"Credit Based Shaper ETS Algorithm Supported",
                       std::string(ets.credit_based_shaper ? "0x1" : "0x0")},
                      {"TX Bandwidth Per TC", eight(ets.tx_percent)},
                      {"RX Bandwidth Per TC", eight(ets.rx_percent)},
                      {"TSA Assignment Table Per TC", eight(ets.algorithms)},
                      {"Priority Assignment Per TC", eight(ets.class_of_priority)},
                      {"Recommended TC Bandwidth Per TC", eight(ets.recommended_percent)},
                      {"Recommended TSA Assignment Per TC", eight(ets.recommended_algorithms)},
                      {"Recommended Priority Assignment Per TC",
                       eight(ets.recommended_class_of_priority)}}}};
}

std::vector<text::TextRecord> pfc_records(const model::DcbPfc& pfc) {
  return {{.title = "",
           .fields = {{"Number Of Traffic Classes", std::uint64_t{pfc.classes}},
                      {"PFC Configuration", priority_bits(pfc.priorities)},
                      {"Macsec Bypass Capability Is Enabled", std::uint64_t{pfc.bypasses_macsec}},
                      {"Round Trip Propagation Delay Of Link", std::uint64_t{pfc.delay}},
                      {"Sent PFC Frames", eight(pfc.sent)},
                      {"Received PFC Frames", eight(pfc.received)}}}};
}

std::vector<text::TextRecord> app_records(const std::vector<model::DcbApp>& apps) {
  std::vector<text::TextRecord> records;
  for (const model::DcbApp& app : apps) {
    const bool is_type = app.selector == model::DcbSelector::kEthertype;
    records.push_back({.title = "",
                       .fields = {{"App Type", std::string(model::to_string(app.selector))},
                                  {"Protocol ID", is_type ? fmt::format("{:#06x}", app.protocol)
                                                          : std::to_string(app.protocol)},
                                  {"User Priority", std::uint64_t{app.priority}}}});
  }
  return records;
}

}  // namespace

text::TextTable nic_table(const std::vector<model::PhysicalNic>& nics) {
  text::TextTable table({"Name", "PCI Device", "Driver", "Admin Status", "Link Status", "Speed",
                         "Duplex", "MAC Address", "MTU", "Description"});
  for (const model::PhysicalNic& nic : nics) {
    table.add({nic.name, shown_pci(nic), nic.driver, up_or_down(nic.up), up_or_down(nic.carrier),
               std::uint64_t{nic.speed_mbps}, duplex(nic), nic.mac, std::uint64_t{nic.mtu},
               nic.description});
  }
  return table;
}

text::TextTable pause_table(const std::vector<model::PhysicalNic>& nics) {
  text::TextTable table({"NIC", "Pause Params Supported", "Pause RX", "Pause TX",
                         "Auto Negotiation", "Auto Negotiation Resolution Avail",
                         "RX Auto Negotiation Resolution", "TX Auto Negotiation Resolution"});
  for (const model::PhysicalNic& nic : nics) {
    const model::NicPause pause = nic.pause.value_or(model::NicPause());
    const model::PauseDirections agreed = pause.negotiated.value_or(model::PauseDirections());
    table.add({nic.name, nic.pause.has_value(), pause.set.rx, pause.set.tx, pause.auto_negotiation,
               pause.negotiated.has_value(), agreed.rx, agreed.tx});
  }
  return table;
}

text::TextRecord dcb_record(const model::NicDcb& dcb) {
  text::TextRecord record{.title = "",
                          .fields = {{"Nic Name", dcb.name},
                                     {"Mode", std::string(shown_mode(dcb.mode))},
                                     {"Enabled", dcb.ets.has_value() || dcb.pfc.has_value()},
                                     {"Managed By Host", dcb.managed_by_host},
                                     {"Capabilities", capabilities(dcb)}}};
  auto& fields = record.fields;
  if (dcb.pfc) {
    fields.emplace_back("PFC Enabled", dcb.pfc->priorities != 0);
    fields.emplace_back("PFC Configuration", priority_bits(dcb.pfc->priorities));
  }
  if (dcb.ets) fields.emplace_back("IEEE ETS Configuration", ets_records(*dcb.ets));
  if (dcb.pfc) fields.emplace_back("IEEE PFC Configuration", pfc_records(*dcb.pfc));
  fields.emplace_back("DCB Apps", app_records(dcb.apps));
  return record;
}

std::string esxcfg_nics(const std::vector<model::PhysicalNic>& nics) {
  using Cells = std::array<std::string, 9>;
  std::vector<Cells> lines = {
      {"Name", "PCI", "Driver", "Link", "Speed", "Duplex", "MAC Address", "MTU", "Description"}};
  for (const model::PhysicalNic& nic : nics)
    lines.push_back({nic.name, shown_pci(nic), nic.driver, std::string(up_or_down(nic.carrier)),
                     fmt::format("{}Mbps", nic.speed_mbps), std::string(duplex(nic)), nic.mac,
                     fmt::to_string(nic.mtu), nic.description});
  // As 6.5 has them; a longer value widens its column.
  std::array<std::size_t, 9> widths = {7, 12, 11, 4, 10, 6, 17, 6, 0};
  for (const Cells& cells : lines) {
    for (std::size_t i = 0; i + 1 < cells.size(); ++i)
      widths[i] = std::max(widths[i], cells[i].size());
  }
  std::string text;
  for (const Cells& cells : lines) {
    for (std::size_t i = 0; i + 1 < cells.size(); ++i)
      text += fmt::format("{:<{}} ", cells[i], widths[i]);
    text += cells.back() + "\n";
  }
  return text;
}

text::TextTable rdma_device_table(const std::vector<model::RdmaDevice>& devices) {
  text::TextTable table(
      {"Name", "Driver", "State", "MTU", "Speed", "Paired Uplink", "Description", "Used By"});
  for (const model::RdmaDevice& device : devices) {
    table.add({device.name, device.driver, std::string(model::to_string(device.state)),
               std::uint64_t{device.mtu}, shown_speed(device), device.paired_uplink,
               device.description, shown_uses(device)});
  }
  return table;
}

text::TextTable rdma_protocol_table(const std::vector<model::RdmaDevice>& devices) {
  text::TextTable table({"Device", "RoCE v1", "RoCE v2", "iWARP"});
  for (const model::RdmaDevice& device : devices) {
    table.add({device.name, device.roce_v1, device.roce_v2, device.iwarp});
  }
  return table;
}

text::TextRecord rdma_stats_record(const model::RdmaStats& stats) {
  text::TextRecord record;
  std::set<std::string, std::less<>> told;
  for (const StatsLine& line : kLines) {
    for (const std::string_view name : line.names) {
      const auto value = find_counter(stats, name);
      if (!value) continue;
      record.fields.emplace_back(line.title, *value * line.unit);
      told.emplace(name);
      break;
    }
  }
  for (const auto& [name, title] : kResources) {
    const auto found = stats.resources.find(std::string(name));
    if (found != stats.resources.end()) record.fields.emplace_back(title, found->second);
  }
  for (const auto* counters : {&stats.counters, &stats.hw_counters}) {
    for (const auto& [name, value] : *counters) {
      if (told.insert(name).second) record.fields.emplace_back(name, value);
    }
  }
  return record;
}

}  // namespace paravane::cli
