#include "vmm/libvirt_domain.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "vmm/adapter_slots.h"

namespace paravane::vmm {
namespace {

std::string escape_xml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '\'': escaped += "&apos;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string element(int indent, const char* name, const std::string& text) {
  if (text.empty()) return {};
  return fmt::format("{:{}}<{}>{}</{}>\n", "", indent, name, escape_xml(text), name);
}

std::string argument(const std::string& word) {
  return fmt::format("    <qemu:arg value='{}'/>\n", escape_xml(word));
}

// The NIC beside our device.
std::string interface_xml(const AdapterSlot& slot, const std::string& bridge) {
  const std::string source =
      slot.in_port_group
          ? fmt::format("      <target dev='{}' managed='no'/>\n", escape_xml(slot.tap))
          : fmt::format("      <source bridge='{}'/>\n", escape_xml(bridge));
  return fmt::format(
      "    <interface type='{}'>\n"
      "      <mac address='{}'/>\n"
      "{}"
      "      <model type='vmxnet3'/>\n"
      "      <address type='pci' domain='0x0000' bus='0x00' slot='0x{:02x}' function='0x0' "
      "multifunction='on'/>\n"
      "    </interface>\n",
      slot.in_port_group ? "ethernet" : "bridge", slot.mac, source, slot.number);
}

// libvirt tries for a minute to reach it again.
std::string lun_xml(const model::Disk& disk, const std::string& socket, std::size_t index) {
  return fmt::format(
      "    <disk type='network' device='disk'>\n"
      "      <driver name='qemu' type='raw' discard='unmap'/>\n"
      "      <source protocol='nbd' name='{}'>\n"
      "        <host transport='unix' socket='{}'/>\n"
      "        <reconnect delay='60'/>\n"
      "      </source>\n"
      "      <target dev='vd{:c}' bus='virtio'/>\n"
      "{}"
      "    </disk>\n",
      escape_xml(disk.lun), escape_xml(socket), static_cast<char>('a' + index),
      disk.read_only ? "      <readonly/>\n" : "");
}

std::string disk_xml(const model::Disk& disk, const model::LunSockets& luns, std::size_t index) {
  if (disk.is_lun()) return lun_xml(disk, luns.at(disk.lun), index);
  return fmt::format(
      "    <disk type='file' device='disk'>\n"
      "      <driver name='qemu' type='{}'/>\n"
      "      <source file='{}'/>\n"
      "      <target dev='vd{:c}' bus='virtio'/>\n"
      "{}"
      "    </disk>\n",
      model::to_string(disk.format), escape_xml(disk.file), static_cast<char>('a' + index),
      disk.read_only ? "      <readonly/>\n" : "");
}

std::string memory_xml(const model::VmMachine& machine, std::uint64_t bytes) {
  return fmt::format(
      "  <memory unit='KiB'>{}</memory>\n"
      "  <memoryBacking>\n"
      "{}"
      "    <source type='memfd'/>\n"
      "    <access mode='shared'/>\n"
      "{}"
      "  </memoryBacking>\n",
      bytes >> 10, machine.huge_pages ? "    <hugepages/>\n" : "",
      machine.lock_memory ? "    <locked/>\n" : "");
}

std::string boot_xml(const model::VmMachine& machine) {
  return fmt::format(
      "  <os>\n"
      "    <type arch='x86_64' machine='q35'>hvm</type>\n"
      "{}{}{}"
      "  </os>\n",
      element(4, "kernel", machine.kernel), element(4, "initrd", machine.initrd),
      element(4, "cmdline", machine.append));
}

// libvirt knows other names of models than QEMU, and fewer.
std::string cpu_xml(const model::VmMachine& machine) {
  const bool host = machine.accelerator != model::Accelerator::kTcg && machine.cpu_model.empty();
  return host ? "  <cpu mode='host-passthrough'/>\n" : "";
}

std::string command_line_xml(const model::VmMachine& machine,
                             const std::vector<AdapterSlot>& slots) {
  std::string words;
  if (!machine.cpu_model.empty()) words += argument("-cpu") + argument(machine.cpu_model);
  for (const AdapterSlot& slot : slots) {
    words += argument("-device");
    words += argument(print(device_of(slot, "", fmt::format("{:x}.1", slot.number))));
  }
  for (const std::string& word : machine.qemu_arguments) words += argument(word);
  return words;
}

}  // namespace

Result<std::string> libvirt_xml(const model::VmStatus& vm, const VmmOptions& options) {
  const model::VmMachine& machine = vm.spec.machine;
  const Result<std::uint64_t> bytes = memory_of(machine, options);
  if (!bytes) return std::unexpected(bytes.error());
  if (const Status good = check_interface("--bridge", options.bridge); !good) {
    return std::unexpected(good.error());
  }
  const Result<std::vector<AdapterSlot>> slots = slots_of(vm, options.slot);
  if (!slots) return std::unexpected(slots.error());
  std::string devices = element(4, "emulator", options.emulator);
  for (std::size_t i = 0; i < machine.disks.size(); ++i) {
    const model::Disk& disk = machine.disks[i];
    if (disk.is_lun() && !options.luns.contains(disk.lun))
      return fail(Errc::kNotFound, fmt::format("LUN {} is not served to VMs", disk.lun));
    devices += disk_xml(disk, options.luns, i);
  }
  for (const AdapterSlot& slot : *slots) devices += interface_xml(slot, options.bridge);
  return fmt::format(
      "<domain type='{type}' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>\n"
      "  <name>{name}</name>\n"
      "{memory}"
      "  <vcpu>{cpus}</vcpu>\n"
      "{boot}"
      "  <features>\n"
      "    <acpi/>\n"
      "    <apic/>\n"
      "  </features>\n"
      "{cpu}"
      "  <devices>\n"
      "{devices}"
      "    <serial type='pty'/>\n"
      "    <memballoon model='none'/>\n"
      "  </devices>\n"
      "  <qemu:commandline>\n"
      "{words}"
      "  </qemu:commandline>\n"
      "</domain>\n",
      fmt::arg("type", machine.accelerator == model::Accelerator::kTcg ? "qemu" : "kvm"),
      fmt::arg("name", escape_xml(vm.spec.name)), fmt::arg("memory", memory_xml(machine, *bytes)),
      fmt::arg("cpus", machine.cpus), fmt::arg("boot", boot_xml(machine)),
      fmt::arg("cpu", cpu_xml(machine)), fmt::arg("devices", devices),
      fmt::arg("words", command_line_xml(machine, *slots)));
}

}  // namespace paravane::vmm
