#include "cli/storage_tables.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "text/text_cell.h"

namespace paravane::cli {

using model::LunPath;
using model::ScsiDevice;
using model::Vmhba;
using text::printable;
using text::TextRecord;

namespace {

constexpr std::string_view kPlugin = "NMP";
constexpr std::string_view kPolicy = "VMW_PSP_FIXED";
constexpr std::uint64_t kBytesOfMib = std::uint64_t{1} << 20;

text::TextTable::Cell storage_cell(const std::string& text) {
  if (text.empty()) return text::TextTable::None();
  return text;
}

std::string link_state(const Vmhba& vmhba) {
  return vmhba.is_up ? "link-up" : "link-down";
}

std::string vmhba_uid(const Vmhba& vmhba) {
  return model::srp_adapter_identifier(vmhba.port_guid);
}

// "MT26428 [ConnectX IB QDR, PCIe 2.0 5.0GT/s]"
std::string vmhba_description(const Vmhba& vmhba) {
  return vmhba.description.empty() ? vmhba.device
                                   : fmt::format("{} [{}]", vmhba.device, vmhba.description);
}

// Of "srp.0250560001a2b301"; nullopt: it is not of that form.
std::optional<std::uint64_t> guid_of(std::string_view identifier) {
  constexpr std::string_view kPrefix = "srp.";
  if (!identifier.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = identifier.substr(kPrefix.size());
  std::uint64_t guid = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, guid, 16);
  if (error != std::errc() || rest != end) return std::nullopt;
  return guid;
}

// The GID of a port in the subnet's default prefix.
std::string link_local_gid(std::uint64_t guid) {
  std::array<unsigned char, 16> gid = {0xfe, 0x80};
  for (std::size_t i = 0; i < 8; ++i)
    gid.at(15 - i) = static_cast<unsigned char>(guid >> (8 * i) & 0xff);
  std::array<char, INET6_ADDRSTRLEN> text{};
  const char* printed = ::inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
  return printed == nullptr ? "" : printed;
}

// The I/O controller's GUID of "srp.<id_ext>:<ioc_guid>".
std::string_view controller_of(std::string_view identifier) {
  const std::size_t colon = identifier.rfind(':');
  return colon == std::string_view::npos ? identifier : identifier.substr(colon + 1);
}

const ScsiDevice* device_of_path(const LunPath& path, const std::vector<ScsiDevice>& devices) {
  if (path.device.empty()) return nullptr;
  const auto found = std::ranges::find(devices, path.device, &ScsiDevice::name);
  return found == devices.end() ? nullptr : &*found;
}

std::string display_name_of(const LunPath& path, const std::vector<ScsiDevice>& devices) {
  const ScsiDevice* device = device_of_path(path, devices);
  return device == nullptr ? "No associated device" : device->display_name;
}

std::string device_name_of(const LunPath& path) {
  return path.device.empty() ? "No associated device" : path.device;
}

std::string device_status(const ScsiDevice& device) {
  if (device.working_path.empty()) return "dead";
  const bool is_degraded = std::ranges::any_of(
      device.paths, [](const LunPath& path) { return path.state == model::PathState::kDead; });
  return is_degraded ? "degraded" : "on";
}

std::string thin_status(const ScsiDevice& device) {
  return device.is_thin ? "yes" : "no";
}

std::string path_state(const LunPath& path) {
  return std::string(model::to_string(path.state));
}

// Titles are no part of JSON and CSV.
TextRecord record_of(const char* what, std::string title, text::TableFormat format) {
  TextRecord record{.title = std::move(title), .fields = {}};
  if (format != text::TableFormat::kTable) record.fields.emplace_back(what, record.title);
  return record;
}

std::uint64_t mib_of(const ScsiDevice& device) {
  return device.bytes / kBytesOfMib;
}

// "total 2, broken 0, disabled 0"
std::string counted_paths(const ScsiDevice& device) {
  const auto broken = std::ranges::count(device.paths, model::PathState::kDead, &LunPath::state);
  return fmt::format("total {}, broken {}, disabled 0", device.paths.size(), broken);
}

}  // namespace

text::TextTable vmhba_table(const std::vector<Vmhba>& vmhbas) {
  text::TextTable table({"Name", "Adapter", "Port", "State", "Port Group", "IPv4", "Gateway",
                         "Targets", "Initiator", "Problem"});
  for (const Vmhba& vmhba : vmhbas) {
    table.add({vmhba.name, vmhba.adapter, std::uint64_t{vmhba.port},
               std::string(vmhba.is_up ? "Active" : "Down"), storage_cell(vmhba.setting.port_group),
               storage_cell(vmhba.setting.ipv4), storage_cell(vmhba.setting.gateway),
               std::uint64_t{vmhba.targets}, vmhba.initiator, vmhba.problem});
  }
  return table;
}

text::TextTable srp_target_table(const std::vector<model::SrpTargetStatus>& targets) {
  text::TextTable table({"Adapter", "Number", "Address", "Service", "ID Ext", "IOC GUID", "Named",
                         "State", "LUNs", "Description", "Problem"});
  for (const model::SrpTargetStatus& status : targets) {
    const model::SrpTarget& target = status.target;
    std::string service;
    if (target.service) service = fmt::format("0x{:016x}", *target.service);
    if (target.port) service = fmt::format("port {}", *target.port);
    table.add({target.vmhba, std::uint64_t{status.number}, target.address, storage_cell(service),
               fmt::format("0x{:016x}", target.id_ext), fmt::format("0x{:016x}", target.ioc_guid),
               status.is_named, std::string(model::to_string(status.state)),
               std::uint64_t{status.luns}, storage_cell(status.description), status.problem});
  }
  return table;
}

std::string path_uid(const LunPath& path) {
  const auto guid = guid_of(path.adapter_identifier);
  return fmt::format(
      "{}-{}-{}-{}", path.vmhba, guid ? link_local_gid(*guid) : path.adapter_identifier,
      controller_of(path.target_identifier), path.device.empty() ? path.name : path.device);
}

text::TextTable storage_adapter_table(const std::vector<Vmhba>& vmhbas) {
  text::TextTable table({"HBA Name", "Driver", "Link State", "UID", "Description"});
  for (const Vmhba& vmhba : vmhbas) {
    table.add({vmhba.name, std::string("ib_srp"), link_state(vmhba), vmhba_uid(vmhba),
               vmhba_description(vmhba)});
  }
  return table;
}

std::vector<TextRecord> device_records(const std::vector<ScsiDevice>& devices,
                                       text::TableFormat format) {
  std::vector<TextRecord> records;
  for (const ScsiDevice& device : devices) {
    TextRecord record = record_of("Device", device.name, format);
    for (auto& field : std::initializer_list<std::pair<std::string, TextRecord::Value>>{
             {"Display Name", device.display_name},
             {"Size", mib_of(device)},
             {"Block Size", std::uint64_t{device.block_bytes}},
             {"Device Type", std::string("Direct-Access")},
             {"Multipath Plugin", std::string(kPlugin)},
             {"Devfs Path", device.socket},
             {"Vendor", device.vendor},
             {"Model", device.model},
             {"Revision", device.revision},
             {"Status", device_status(device)},
             {"Is Local", false},
             {"Is Removable", false},
             {"Is Read Only", device.is_read_only},
             {"Thin Provisioning Status", thin_status(device)},
             {"VM", device.vm},
             {"In Use", device.is_open},
             {"Problem", device.problem}})
      record.fields.push_back(field);
    records.push_back(std::move(record));
  }
  return records;
}

namespace {

// What path_records() and mpath_records() have in common, by its form there.
TextRecord path_head(const LunPath& path, const std::vector<ScsiDevice>& devices,
                     text::TableFormat format) {
  TextRecord record = record_of("UID", path_uid(path), format);
  record.fields.emplace_back("Runtime Name", path.name);
  record.fields.emplace_back("Device", device_name_of(path));
  record.fields.emplace_back("Device Display Name", display_name_of(path, devices));
  return record;
}

void add_place(const LunPath& path, TextRecord& record) {
  record.fields.emplace_back("Adapter", path.vmhba);
  record.fields.emplace_back("Channel", std::uint64_t{0});
  record.fields.emplace_back("Target", std::uint64_t{path.target});
  record.fields.emplace_back("LUN", std::uint64_t{path.lun});
}

void add_ends(const LunPath& path, TextRecord& record) {
  record.fields.emplace_back("Adapter Identifier", path.adapter_identifier);
  record.fields.emplace_back("Target Identifier", path.target_identifier);
}

void add_state(const LunPath& path, TextRecord& record) {
  record.fields.emplace_back("Plugin", std::string(kPlugin));
  record.fields.emplace_back("State", path_state(path));
  record.fields.emplace_back("Transport", std::string("srp"));
}

}  // namespace

std::vector<TextRecord> path_records(const std::vector<LunPath>& paths,
                                     const std::vector<ScsiDevice>& devices,
                                     text::TableFormat format) {
  std::vector<TextRecord> records;
  for (const LunPath& path : paths) {
    TextRecord record = path_head(path, devices, format);
    add_place(path, record);
    add_state(path, record);
    add_ends(path, record);
    record.fields.emplace_back("Problem", path.problem);
    records.push_back(std::move(record));
  }
  return records;
}

std::vector<TextRecord> nmp_device_records(const std::vector<ScsiDevice>& devices,
                                           text::TableFormat format) {
  std::vector<TextRecord> records;
  for (const ScsiDevice& device : devices) {
    TextRecord record = record_of("Device", device.name, format);
    record.fields.emplace_back("Device Display Name", device.display_name);
    record.fields.emplace_back("Path Selection Policy", std::string(kPolicy));
    record.fields.emplace_back("Working Paths", device.working_path);
    record.fields.emplace_back("Paths", counted_paths(device));
    records.push_back(std::move(record));
  }
  return records;
}

std::vector<TextRecord> nmp_path_records(const std::vector<LunPath>& paths,
                                         const std::vector<ScsiDevice>& devices,
                                         text::TableFormat format) {
  std::vector<TextRecord> records;
  for (const LunPath& path : paths) {
    TextRecord record = path_head(path, devices, format);
    record.fields.emplace_back("Group State", path_state(path));
    const ScsiDevice* device = device_of_path(path, devices);
    const bool is_current = device != nullptr && device->working_path == path.name;
    record.fields.emplace_back(
        "Path Selection Policy Path Config",
        fmt::format("{{current: {}; preferred: {}}}", is_current ? "yes" : "no",
                    path.is_preferred ? "yes" : "no"));
    records.push_back(std::move(record));
  }
  return records;
}

std::vector<TextRecord> mpath_records(const std::vector<LunPath>& paths,
                                      const std::vector<ScsiDevice>& devices,
                                      text::TableFormat format) {
  std::vector<TextRecord> records;
  for (const LunPath& path : paths) {
    TextRecord record = path_head(path, devices, format);
    if (format == text::TableFormat::kTable) {
      record.fields.emplace_back("Adapter", fmt::format("{} Channel: 0 Target: {} LUN: {}",
                                                        path.vmhba, path.target, path.lun));
    } else {
      add_place(path, record);
    }
    add_ends(path, record);
    add_state(path, record);
    records.push_back(std::move(record));
  }
  return records;
}

std::string mpath_brief(const std::vector<ScsiDevice>& devices) {
  std::string text;
  for (const ScsiDevice& device : devices) {
    text += fmt::format("{} : {}\n", printable(device.name), printable(device.display_name));
    for (const LunPath& path : device.paths) {
      text += fmt::format("   {} LUN:{} state:{} srp Adapter: {}  Target: {}\n",
                          printable(path.name), path.lun, path_state(path),
                          printable(path.adapter_identifier), printable(path.target_identifier));
    }
    text += '\n';
  }
  return text;
}

std::string mpath_compact(const std::vector<LunPath>& paths) {
  std::string text;
  for (const LunPath& path : paths) {
    text += fmt::format("{} state:{} {} {} 0 {} {} {} {} srp {} {}\n", printable(path.name),
                        path_state(path), path.device.empty() ? "-" : printable(path.device),
                        printable(path.vmhba), path.target, path.lun, kPlugin, path_state(path),
                        printable(path.adapter_identifier), printable(path.target_identifier));
  }
  return text;
}

std::string scsidevs_adapters(const std::vector<Vmhba>& vmhbas) {
  std::string text;
  for (const Vmhba& vmhba : vmhbas) {
    text += fmt::format("{:<8} ib_srp  {:<9} {}  ({} port {}) {}\n", printable(vmhba.name),
                        link_state(vmhba), vmhba_uid(vmhba), printable(vmhba.adapter), vmhba.port,
                        printable(vmhba_description(vmhba)));
  }
  return text;
}

std::string scsidevs_list(const std::vector<ScsiDevice>& devices) {
  std::string text;
  for (const ScsiDevice& device : devices) {
    text += fmt::format(
        "{}\n"
        "   Device Type: Direct-Access\n"
        "   Size: {} MB\n"
        "   Display Name: {}\n"
        "   Multipath Plugin: {}\n"
        "   Console Device: {}\n"
        "   Vendor: {}  Model: {}  Revis: {}\n"
        "   Is Pseudo: false Status: {}\n"
        "   Is Removable: false Is Local: false\n",
        printable(device.name), mib_of(device), printable(device.display_name), kPlugin,
        printable(device.socket), printable(device.vendor), printable(device.model),
        printable(device.revision), device_status(device));
  }
  return text;
}

std::string scsidevs_compact(const std::vector<ScsiDevice>& devices) {
  using Cells = std::array<std::string, 6>;
  std::vector<Cells> lines = {
      {"Device UID", "Device Type", "Console Device", "Size", "Multipath Plugin", "Display Name"}};
  for (const ScsiDevice& device : devices)
    lines.push_back({printable(device.name), "Direct-Access", printable(device.socket),
                     fmt::format("{}MB", mib_of(device)), std::string(kPlugin),
                     printable(device.display_name)});
  std::array<std::size_t, 6> widths{};
  for (const Cells& cells : lines) {
    for (std::size_t i = 0; i + 1 < cells.size(); ++i)
      widths.at(i) = std::max(widths.at(i), cells.at(i).size());
  }
  std::string text;
  for (const Cells& cells : lines) {
    for (std::size_t i = 0; i + 1 < cells.size(); ++i)
      text += fmt::format("{:<{}}  ", cells.at(i), widths.at(i));
    text += cells.back() + "\n";
  }
  return text;
}

std::string ibstat_vmhbas(const std::vector<Vmhba>& vmhbas) {
  std::string text;
  for (const Vmhba& vmhba : vmhbas) {
    text += fmt::format("{}  {} port {}  0x{:016x}  {}\n", printable(vmhba.name),
                        printable(vmhba.adapter), vmhba.port, vmhba.port_guid,
                        vmhba.is_up ? "Active" : "Down");
  }
  return text;
}

}  // namespace paravane::cli
