#include "vmm/libvirt_domain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::vmm {
namespace {

using testing::HasSubstr;
using testing::Not;

model::VmStatus domain_vm() {
  model::VmStatus vm;
  vm.spec.name = "db1";
  vm.spec.adapters[0].mac = model::MacAddress{2, 0x50, 0x56, 1, 2, 3};
  vm.adapters = {{.socket = "/run/paravane/vm/db1.sock"}};
  return vm;
}

// With adapters 1 and 3; 2 was taken away.
model::VmStatus wide_vm() {
  model::VmStatus vm = domain_vm();
  vm.spec.adapters.push_back({.number = 3, .mac = model::MacAddress{2, 0x50, 0x56, 7, 8, 9}});
  vm.adapters.push_back({.socket = "/run/paravane/vm/db1.3.sock"});
  return vm;
}

model::VmStatus in_port_group() {
  model::VmStatus vm = domain_vm();
  vm.spec.adapters[0].port_group = "storage";
  vm.adapters[0].tap = "pv-db1";
  return vm;
}

TEST(LibvirtXml, HoldsMemoryNicAndAdapter) {
  const auto xml = libvirt_xml(domain_vm(), {.bridge = "br<1>", .memory = "2G"});
  ASSERT_TRUE(xml);
  EXPECT_THAT(*xml, HasSubstr("<memory unit='KiB'>2097152</memory>"));
  EXPECT_THAT(*xml, HasSubstr("<access mode='shared'/>"));
  EXPECT_THAT(*xml, HasSubstr("<mac address='02:50:56:01:02:03'/>"));
  EXPECT_THAT(*xml, HasSubstr("<source bridge='br&lt;1&gt;'/>"));
  EXPECT_THAT(*xml, HasSubstr("slot='0x10' function='0x0' multifunction='on'"));
  EXPECT_THAT(*xml, HasSubstr("&quot;addr&quot;:&quot;10.1&quot;"));
}

TEST(LibvirtXml, HoldsEveryAdapter) {
  const auto xml = libvirt_xml(wide_vm(), {});
  ASSERT_TRUE(xml);
  EXPECT_THAT(*xml, HasSubstr("<mac address='02:50:56:07:08:09'/>"));
  EXPECT_THAT(*xml, HasSubstr("slot='0x12' function='0x0' multifunction='on'"));
  EXPECT_THAT(*xml, HasSubstr("&quot;id&quot;:&quot;paravane2&quot;"));
}

TEST(LibvirtXml, PutsTheNicOnTheTapOfThePortGroup) {
  const auto xml = libvirt_xml(in_port_group(), {});
  ASSERT_TRUE(xml);
  EXPECT_THAT(*xml, testing::HasSubstr("<interface type='ethernet'>"));
  EXPECT_THAT(*xml, testing::HasSubstr("<target dev='pv-db1' managed='no'/>"));
  EXPECT_THAT(*xml, testing::Not(testing::HasSubstr("bridge")));
}

TEST(LibvirtXml, RefusesWhatNothingCanBe) {
  EXPECT_FALSE(libvirt_xml(domain_vm(), {.bridge = "a/b"}));
  EXPECT_FALSE(libvirt_xml(domain_vm(), {.memory = "4GB"}));
  EXPECT_FALSE(libvirt_xml(wide_vm(), {.slot = 0x1e}));
}

TEST(LibvirtXml, IsAWholeDomain) {
  model::VmStatus vm = domain_vm();
  vm.spec.machine = {.memory_mib = 512,
                     .cpus = 3,
                     .accelerator = model::Accelerator::kTcg,
                     .cpu_model = "max,+x2apic",
                     .lock_memory = true,
                     .kernel = "/boot/a&b",
                     .append = "root='x'",
                     .disks = {{.file = "/srv/<a>", .read_only = true}, {.file = "/srv/b"}},
                     .qemu_arguments = {"-device", "virtio-rng-pci"}};
  const auto xml = libvirt_xml(vm, {.emulator = "/usr/local/bin/qemu"});
  ASSERT_TRUE(xml);
  EXPECT_THAT(*xml, testing::StartsWith("<domain type='qemu' "));
  for (const char* part :
       {"<name>db1</name>", "<memory unit='KiB'>524288</memory>", "<locked/>", "<vcpu>3</vcpu>",
        "<kernel>/boot/a&amp;b</kernel>", "<cmdline>root=&apos;x&apos;</cmdline>", "<acpi/>",
        "<emulator>/usr/local/bin/qemu</emulator>", "<source file='/srv/&lt;a&gt;'/>",
        "<target dev='vdb' bus='virtio'/>", "<readonly/>", "<qemu:arg value='max,+x2apic'/>",
        "<qemu:arg value='virtio-rng-pci'/>"}) {
    EXPECT_THAT(*xml, HasSubstr(part));
  }
  EXPECT_THAT(*xml, Not(HasSubstr("host-passthrough")));
  EXPECT_THAT(*xml, Not(HasSubstr("<hugepages/>")));
}

TEST(LibvirtXml, ReachesLunsAtTheirSockets) {
  model::VmStatus vm = domain_vm();
  vm.spec.machine.disks = {{.file = "/a"}, {.read_only = true, .lun = "naa.6001405"}};
  EXPECT_EQ(libvirt_xml(vm, {}).error().code, Errc::kNotFound);
  const auto xml = libvirt_xml(vm, {.luns = {{"naa.6001405", "/run/<a>/naa.sock"}}});
  ASSERT_TRUE(xml);
  EXPECT_THAT(*xml, HasSubstr("    <disk type='network' device='disk'>\n"
                              "      <driver name='qemu' type='raw' discard='unmap'/>\n"
                              "      <source protocol='nbd' name='naa.6001405'>\n"
                              "        <host transport='unix' socket='/run/&lt;a&gt;/naa.sock'/>\n"
                              "        <reconnect delay='60'/>\n"
                              "      </source>\n"
                              "      <target dev='vdb' bus='virtio'/>\n"
                              "      <readonly/>\n"
                              "    </disk>\n"));
}

TEST(LibvirtXml, OffersTheHostsProcessorWhereThereIsKvm) {
  const auto xml = libvirt_xml(domain_vm(), {});
  EXPECT_THAT(*xml, testing::StartsWith("<domain type='kvm' "));
  EXPECT_THAT(*xml, HasSubstr("host-passthrough"));
}

}  // namespace
}  // namespace paravane::vmm
