#include "vmm/machine_arguments.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "vmm/adapter_slots.h"

namespace paravane::vmm {
namespace {

using nlohmann::ordered_json;

constexpr const char* kPortMemory = "8M";
constexpr unsigned kLunReconnectSeconds = 60;
constexpr unsigned kLunOpenSeconds = 30;

class Words {
 public:
  void option(const char* name, std::string value) {
    words_.emplace_back(name);
    words_.push_back(std::move(value));
  }
  void flag(const char* name) { words_.emplace_back(name); }
  void take(const std::vector<std::string>& words) {
    words_.insert(words_.end(), words.begin(), words.end());
  }
  std::vector<std::string> give() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

void add_processor(const model::VmMachine& machine, bool kvm, Words& words) {
  words.option("-accel", kvm ? "kvm" : "tcg");
  const std::string most = kvm ? "host" : "max";
  words.option("-cpu", machine.cpu_model.empty() ? most : machine.cpu_model);
  words.option("-smp", fmt::format("{}", machine.cpus));
}

void add_memory(const model::VmMachine& machine, Words& words) {
  words.option("-m", fmt::format("{}M", machine.memory_mib));
  words.option("-object", fmt::format("memory-backend-memfd,id=paravane-ram,size={}M,share=on{}",
                                      machine.memory_mib,
                                      machine.huge_pages ? ",hugetlb=on,hugetlbsize=2M" : ""));
  words.option("-machine", "q35,memory-backend=paravane-ram,dump-guest-core=off");
  if (machine.lock_memory) words.option("-overcommit", "mem-lock=on");
}

void add_boot(const model::VmMachine& machine, Words& words) {
  if (machine.kernel.empty()) return;
  words.option("-kernel", machine.kernel);
  if (!machine.initrd.empty()) words.option("-initrd", machine.initrd);
  if (!machine.append.empty()) words.option("-append", machine.append);
}

// While a LUN has no path, and while another engine follows, requests wait. What a guest discards
// is given back.
ordered_json lun_block(const model::Disk& disk, const std::string& socket) {
  return {{"driver", "nbd"},
          {"read-only", disk.read_only},
          {"discard", "unmap"},
          {"server", {{"type", "unix"}, {"path", socket}}},
          {"export", disk.lun},
          {"reconnect-delay", kLunReconnectSeconds},
          {"open-timeout", kLunOpenSeconds}};
}

ordered_json file_block(const model::Disk& disk) {
  return {{"driver", model::to_string(disk.format)},
          {"read-only", disk.read_only},
          {"file", {{"driver", "file"}, {"filename", disk.file}}}};
}

// REQUIRES: check_sockets().
void add_disks(const model::VmMachine& machine, const model::LunSockets& luns, Words& words) {
  for (std::size_t i = 0; i < machine.disks.size(); ++i) {
    const model::Disk& disk = machine.disks[i];
    const std::string node = fmt::format("disk{}", i);
    ordered_json block = {{"node-name", node}};
    block.update(disk.is_lun() ? lun_block(disk, luns.at(disk.lun)) : file_block(disk));
    words.option("-blockdev", print(block));
    words.option("-device", fmt::format("virtio-blk-pci,drive={},bootindex={}", node, i + 1));
  }
}

void add_adapter(const AdapterSlot& slot, const HostFacts& host, Words& words) {
  const auto tap = host.taps.find(slot.adapter);
  const bool networked = tap != host.taps.end();
  if (networked) {
    words.option("-netdev", fmt::format("tap,id={},fd={}", slot.netdev_id, tap->second));
  }
  words.option("-device",
               fmt::format("vmxnet3,id={},{}mac={},bus={},addr=0.0,multifunction=on", slot.nic_id,
                           networked ? fmt::format("netdev={},", slot.netdev_id) : "", slot.mac,
                           slot.port_id));
  words.option("-device", print(device_of(slot, slot.port_id, "0.1")));
}

// For every adapter that a VM can have, in the slots that printed arguments put them in. Firmware
// leaves 2 MiB of addresses below an empty port, and the device's doorbells take 4: without
// kPortMemory a guest would find one that is hot-added, and no way to its doorbells.
void add_ports(Words& words) {
  for (std::uint32_t adapter = 1; adapter <= model::kMaxAdapters; ++adapter) {
    words.option("-device",
                 fmt::format("pcie-root-port,id=paravane-port{},chassis={},slot={},addr={:x}.0,"
                             "mem-reserve={}",
                             adapter - 1, adapter, adapter, kFirstSlot + adapter - 1, kPortMemory));
  }
}

Status check_sockets(const model::VmMachine& machine, const model::LunSockets& luns) {
  for (const model::Disk& disk : machine.disks) {
    if (disk.is_lun() && !luns.contains(disk.lun))
      return fail(Errc::kNotFound, fmt::format("LUN {} is not served to VMs", disk.lun));
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> machine_arguments(const model::VmStatus& vm,
                                                   const HostFacts& host) {
  const model::VmMachine& machine = vm.spec.machine;
  if (machine.accelerator == model::Accelerator::kKvm && !host.kvm) {
    return fail(Errc::kUnsupported, "KVM is required, but QEMU's user may not use /dev/kvm");
  }
  if (Status good = check_sockets(machine, host.luns); !good) return std::unexpected(good.error());
  const Result<std::vector<AdapterSlot>> slots = slots_of(vm, kFirstSlot);
  if (!slots) return std::unexpected(slots.error());
  Words words;
  words.option("-name", fmt::format("guest={}", vm.spec.name));
  words.flag("-nodefaults");
  words.flag("-no-user-config");
  words.option("-display", "none");
  words.option("-sandbox",
               "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny");
  add_processor(machine, host.kvm && machine.accelerator != model::Accelerator::kTcg, words);
  add_memory(machine, words);
  add_boot(machine, words);
  words.option("-qmp", fmt::format("unix:{},server=on,wait=off", kQmpSocket));
  words.option("-chardev",
               fmt::format("socket,id=console,path={},server=on,wait=off", kConsoleSocket));
  words.option("-serial", "chardev:console");
  add_ports(words);
  for (const AdapterSlot& slot : *slots) add_adapter(slot, host, words);
  add_disks(machine, host.luns, words);
  words.take(machine.qemu_arguments);
  return words.give();
}

}  // namespace paravane::vmm
