#include "vmm/qemu_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace paravane::vmm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

model::VmStatus some_vm() {
  model::VmStatus vm;
  vm.spec.name = "db1";
  vm.spec.adapters[0].mac = model::MacAddress{2, 0x50, 0x56, 1, 2, 3};
  vm.adapters = {{.socket = "/run/paravane/vm/db1.sock"}};
  return vm;
}

// With adapters 1 and 3; 2 was taken away.
model::VmStatus wide_vm() {
  model::VmStatus vm = some_vm();
  vm.spec.adapters.push_back({.number = 3, .mac = model::MacAddress{2, 0x50, 0x56, 7, 8, 9}});
  vm.adapters.push_back({.socket = "/run/paravane/vm/db1.3.sock"});
  return vm;
}

TEST(QemuArguments, HoldMemoryNicAndAdapter) {
  const auto words = qemu_arguments(some_vm(), {.taps = {"tap0"}, .memory = "4G"});
  ASSERT_TRUE(words);
  EXPECT_THAT(
      *words,
      ElementsAre("-object", "memory-backend-memfd,id=paravane-ram,size=4194304K,share=on",
                  "-machine", "memory-backend=paravane-ram,dump-guest-core=off", "-netdev",
                  "tap,id=paravane-net,ifname=tap0,script=no,downscript=no", "-device",
                  "vmxnet3,netdev=paravane-net,mac=02:50:56:01:02:03,addr=10.0,multifunction=on",
                  "-device",
                  R"({"driver":"vfio-user-pci","id":"paravane0","addr":"10.1",)"
                  R"("socket":{"type":"unix","path":"/run/paravane/vm/db1.sock"}})"));
}

TEST(QemuArguments, UseTheNetdevOfTheUser) {
  const auto words = qemu_arguments(some_vm(), {.netdevs = {"lan"}, .slot = 0x1f});
  ASSERT_TRUE(words);
  EXPECT_THAT(*words, Not(testing::Contains("-netdev")));
  EXPECT_THAT(*words, testing::Contains(HasSubstr("vmxnet3,netdev=lan,")));
  EXPECT_THAT(*words, testing::Contains(HasSubstr("addr=1f.0")));
  EXPECT_THAT(*words, testing::Contains(HasSubstr("\"addr\":\"1f.1\"")));
}

TEST(QemuArguments, NoWordHoldsABlank) {
  const auto words = qemu_arguments(some_vm(), {});
  ASSERT_TRUE(words);
  for (const std::string& word : *words) {
    EXPECT_EQ(word.find_first_of(" \t\n"), std::string::npos) << word;
  }
}

TEST(QemuArguments, CannotBeWidenedByAnOption) {
  const auto words = qemu_arguments(some_vm(), {.taps = {"t0,script=evil"}});
  ASSERT_TRUE(words);
  EXPECT_THAT(*words, testing::Contains(HasSubstr("ifname=t0,,script=evil,")));
}

TEST(QemuArguments, RefuseNamesThatNothingCanHave) {
  for (const char* tap : {"", "a b", "sixteen-letters-", "..", "a/b", "a:b", "a\nb"}) {
    EXPECT_FALSE(qemu_arguments(some_vm(), {.taps = {tap}})) << tap;
  }
  EXPECT_TRUE(qemu_arguments(some_vm(), {.taps = {"fifteen-letters"}}));
  for (const char* id : {"", "a b", "0a", "a,b", "-a"}) {
    EXPECT_FALSE(qemu_arguments(some_vm(), {.netdevs = {id}})) << id;
  }
  EXPECT_TRUE(qemu_arguments(some_vm(), {.netdevs = {"lan-0.a_b"}}));
}

TEST(QemuArguments, NeedASizeOfMemory) {
  for (const char* memory : {"", "G", "0", "-1", "1.5G", "4GB", "4 G", "99999999999T", "1X"}) {
    EXPECT_FALSE(qemu_arguments(some_vm(), {.memory = memory})) << memory;
  }
}

TEST(QemuArguments, GiveEachAdapterASlotOfItsOwn) {
  const auto words = qemu_arguments(wide_vm(), {});
  ASSERT_TRUE(words);
  EXPECT_THAT(
      *words,
      ElementsAre(
          "-object", testing::_, "-machine", testing::_, "-netdev",
          HasSubstr("id=paravane-net,ifname=pv-db1,"), "-device",
          HasSubstr("netdev=paravane-net,mac=02:50:56:01:02:03,addr=10.0,multifunction=on"),
          "-device", HasSubstr(R"("id":"paravane0","addr":"10.1")"), "-netdev",
          HasSubstr("id=paravane-net2,ifname=pv-db1.3,"), "-device",
          HasSubstr("netdev=paravane-net2,mac=02:50:56:07:08:09,addr=12.0,multifunction=on"),
          "-device",
          R"({"driver":"vfio-user-pci","id":"paravane2","addr":"12.1",)"
          R"("socket":{"type":"unix","path":"/run/paravane/vm/db1.3.sock"}})"));
}

TEST(QemuArguments, RefuseASlotBeyondTheLast) {
  EXPECT_TRUE(qemu_arguments(wide_vm(), {.slot = 0x1d}));
  const auto words = qemu_arguments(wide_vm(), {.slot = 0x1e});
  ASSERT_FALSE(words);
  EXPECT_THAT(words.error().message, HasSubstr("adapter 3 would be in slot 20"));
}

TEST(QemuArguments, NeedANetworkForEachAdapterOrNone) {
  const auto words = qemu_arguments(wide_vm(), {.taps = {"t0", "t1"}});
  ASSERT_TRUE(words);
  EXPECT_THAT(*words, testing::Contains(HasSubstr("ifname=t1,")));
  EXPECT_TRUE(qemu_arguments(wide_vm(), {.netdevs = {"a", "b"}}));
  for (const VmmOptions& options : {VmmOptions{.taps = {"t0"}}, VmmOptions{.netdevs = {"a"}},
                                    VmmOptions{.taps = {"t0", "t1", "t2"}}}) {
    const auto refused = qemu_arguments(wide_vm(), options);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("the VM has 2 adapters"));
  }
}

TEST(QemuArguments, TakeTheMemoryOfTheVm) {
  model::VmStatus vm = some_vm();
  vm.spec.machine.memory_mib = 3;
  EXPECT_THAT(*qemu_arguments(vm, {}), testing::Contains(HasSubstr("size=3072K")));
  EXPECT_THAT(*qemu_arguments(vm, {.memory = "65M"}), testing::Contains(HasSubstr("size=66560K")));
}

TEST(QemuArguments, RefuseMemoryTooSmallToBoot) {
  EXPECT_EQ(qemu_arguments(some_vm(), {.memory = "4"}).error().message,
            "--memory 4: 4 MiB is too small to boot; did you mean 4G?");
}

TEST(Memory, IsReadAsQemuReadsIt) {
  EXPECT_EQ(parse_memory("512"), std::uint64_t{512} << 20);
  EXPECT_EQ(parse_memory("512M"), std::uint64_t{512} << 20);
  EXPECT_EQ(parse_memory("64k"), std::uint64_t{64} << 10);
  EXPECT_EQ(parse_memory("2G"), std::uint64_t{2} << 30);
  EXPECT_EQ(parse_memory("1T"), std::uint64_t{1} << 40);
}

model::VmStatus in_port_group() {
  model::VmStatus vm = some_vm();
  vm.spec.adapters[0].port_group = "storage";
  vm.adapters[0].tap = "pv-db1";
  return vm;
}

TEST(QemuArguments, PutTheNicOnTheTapOfThePortGroup) {
  const auto words = qemu_arguments(in_port_group(), {});
  ASSERT_TRUE(words);
  EXPECT_THAT(*words, testing::Contains("tap,id=paravane-net,ifname=pv-db1,script=no,"
                                        "downscript=no"));
}

TEST(ShellQuote, KeepsAWordOneWord) {
  EXPECT_EQ(shell_quote("addr=10.0,multifunction=on"), "addr=10.0,multifunction=on");
  EXPECT_EQ(shell_quote("{\"a\"}"), "'{\"a\"}'");
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quote(""), "''");
}

}  // namespace
}  // namespace paravane::vmm
