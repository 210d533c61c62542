#include "cli/vm_record.h"

#include <gtest/gtest.h>

#include <array>

namespace paravane::cli {
namespace {

TEST(VmRecord, SaysAllThatWasAskedForAndHowItIs) {
  model::VmStatus vm;
  vm.spec.name = "db1";
  vm.spec.limits.queue_pairs = 64;
  vm.spec.limits.gids = 8;
  vm.spec.adapters = {{.number = 2, .mac = model::MacAddress{2}, .port_group = "storage"}};
  vm.spec.machine = {
      .memory_mib = 4096,
      .cpus = 2,
      .lock_memory = true,
      .disks = {{.file = "/srv/db1.img"},
                {.file = "/srv/cd.iso", .format = model::DiskFormat::kQcow2, .read_only = true}},
      .qemu_arguments = {"-cpu", "max"}};
  vm.adapters = {
      {.socket = "/a", .state = model::VmState::kActive, .pid = 7, .problem = {}, .tap = "pv-1"}};
  const auto record = vm_record(vm, {vmm::Runner::State::kRunning, 7});
  EXPECT_EQ(text::print_records(std::array{record}, text::TableFormat::kTable),
            "db1\n"
            "   Name: db1\n"
            "   Power: running\n"
            "   Hardware Version: 21\n"
            "   Device Version: 20\n"
            "   Doorbells: mapped\n"
            "   Limits: queue_pairs=64, gids=8\n"
            "   Memory MiB: 4096\n"
            "   CPUs: 2\n"
            "   Accelerator: auto\n"
            "   CPU Model:\n"
            "   Lock Memory: true\n"
            "   Huge Pages: false\n"
            "   Disks: /srv/db1.img,format=raw, /srv/cd.iso,format=qcow2,readonly\n"
            "   Kernel:\n"
            "   Initrd:\n"
            "   Append:\n"
            "   QEMU Arguments: -cpu, max\n"
            "   Adapters:\n"
            "         Adapter: 2\n"
            "         State: active\n"
            "         MAC Address: 02:00:00:00:00:00\n"
            "         Protocol: v2\n"
            "         Connected: true\n"
            "         Port Group: storage\n"
            "         Socket: /a\n"
            "         Tap: pv-1\n"
            "         Problem:\n");
}

}  // namespace
}  // namespace paravane::cli
