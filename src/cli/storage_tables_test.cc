#include "cli/storage_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::cli {
namespace {

using model::PathState;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using text::TableFormat;

constexpr const char* kTestLun = "naa.60014051e7a0";

model::Vmhba shown_vmhba() {
  return {.name = "vmhba32",
          .adapter = "mlx4_0",
          .device = "MT26428",
          .description = "ConnectX IB QDR, PCIe 2.0 5.0GT/s",
          .port = 1,
          .port_guid = 0x0250560001a2b301,
          .initiator = "0xfe800000000000000250560001a2b301",
          .is_up = true,
          .targets = 1};
}

std::vector<model::LunPath> shown_paths() {
  return {{.name = "vmhba32:C0:T0:L0",
           .vmhba = "vmhba32",
           .device = kTestLun,
           .adapter_identifier = "srp.0250560001a2b301",
           .target_identifier = "srp.5254000000770001:5254000000770001",
           .state = PathState::kActive,
           .is_preferred = true},
          {.name = "vmhba33:C0:T2:L0",
           .vmhba = "vmhba33",
           .target = 2,
           .device = kTestLun,
           .adapter_identifier = "srp.0250560001a2b302",
           .target_identifier = "srp.0000000000000001:5254000000770002",
           .state = PathState::kDead,
           .problem = "the target is gone"}};
}

std::vector<model::ScsiDevice> shown_devices() {
  return {{.name = kTestLun,
           .display_name = "LIO-ORG SRP Disk (naa.60014051e7a0)",
           .vendor = "LIO-ORG",
           .model = "disk",
           .revision = "4.0",
           .bytes = std::uint64_t{20} << 30,
           .block_bytes = 512,
           .is_thin = true,
           .working_path = "vmhba32:C0:T0:L0",
           .paths = shown_paths(),
           .socket = "/run/paravane/vms/naa.60014051e7a0.lun",
           .vm = "db1"}};
}

std::string as_text(const std::vector<text::TextRecord>& records,
                    TableFormat format = TableFormat::kTable) {
  return text::print_records(records, format);
}

TEST(StorageTables, AdaptersAreThoseOfEsxcli) {
  EXPECT_EQ(storage_adapter_table({shown_vmhba()}).print(TableFormat::kCsv),
            "HBA Name,Driver,Link State,UID,Description\n"
            "vmhba32,ib_srp,link-up,srp.0250560001a2b301,"
            "\"MT26428 [ConnectX IB QDR, PCIe 2.0 5.0GT/s]\"\n");
  EXPECT_EQ(ibstat_vmhbas({shown_vmhba()}), "vmhba32  mlx4_0 port 1  0x0250560001a2b301  Active\n");
  model::Vmhba down = shown_vmhba();
  down.is_up = false;
  EXPECT_THAT(ibstat_vmhbas({down}), EndsWith("  Down\n"));
  EXPECT_EQ(scsidevs_adapters({down}),
            "vmhba32  ib_srp  link-down srp.0250560001a2b301  (mlx4_0 port 1) MT26428 [ConnectX IB "
            "QDR, PCIe 2.0 5.0GT/s]\n");
}

TEST(StorageTables, PathsHaveNamesThatStay) {
  EXPECT_EQ(path_uid(shown_paths()[0]),
            "vmhba32-fe80::250:5600:1a2:b301-5254000000770001-naa.60014051e7a0");
  model::LunPath odd = shown_paths()[0];
  odd.adapter_identifier = "srp.x";
  odd.target_identifier = "y";
  odd.device.clear();
  EXPECT_EQ(path_uid(odd), "vmhba32-srp.x-y-vmhba32:C0:T0:L0");
}

TEST(StorageTables, MpathIsThatOfVsphere) {
  const std::string text =
      as_text(mpath_records({shown_paths()[0]}, shown_devices(), TableFormat::kTable));
  EXPECT_EQ(text,
            "vmhba32-fe80::250:5600:1a2:b301-5254000000770001-naa.60014051e7a0\n"
            "   Runtime Name: vmhba32:C0:T0:L0\n"
            "   Device: naa.60014051e7a0\n"
            "   Device Display Name: LIO-ORG SRP Disk (naa.60014051e7a0)\n"
            "   Adapter: vmhba32 Channel: 0 Target: 0 LUN: 0\n"
            "   Adapter Identifier: srp.0250560001a2b301\n"
            "   Target Identifier: srp.5254000000770001:5254000000770001\n"
            "   Plugin: NMP\n"
            "   State: active\n"
            "   Transport: srp\n");
  EXPECT_THAT(as_text(mpath_records(shown_paths(), shown_devices(), TableFormat::kJson),
                      TableFormat::kJson),
              AllOf(HasSubstr("\"UID\""), HasSubstr("\"Channel\"")));
  EXPECT_EQ(mpath_compact({shown_paths()[1]}),
            "vmhba33:C0:T2:L0 state:dead naa.60014051e7a0 vmhba33 0 2 0 NMP dead srp "
            "srp.0250560001a2b302 srp.0000000000000001:5254000000770002\n");
  EXPECT_THAT(mpath_brief(shown_devices()),
              AllOf(StartsWith("naa.60014051e7a0 : LIO-ORG SRP Disk (naa.60014051e7a0)\n"
                               "   vmhba32:C0:T0:L0 LUN:0 state:active srp Adapter: "),
                    EndsWith("5254000000770002\n\n")));
}

TEST(StorageTables, APathMayLeadToNoDevice) {
  model::LunPath lone = shown_paths()[0];
  lone.device.clear();
  EXPECT_THAT(as_text(path_records({lone}, {}, TableFormat::kTable)),
              HasSubstr("   Device: No associated device\n"));
  EXPECT_THAT(mpath_compact({lone}), HasSubstr(" - vmhba32 "));
}

TEST(StorageTables, DevicesTellTheStateOfTheirPaths) {
  EXPECT_EQ(as_text(nmp_device_records(shown_devices(), TableFormat::kTable)),
            "naa.60014051e7a0\n"
            "   Device Display Name: LIO-ORG SRP Disk (naa.60014051e7a0)\n"
            "   Path Selection Policy: VMW_PSP_FIXED\n"
            "   Working Paths: vmhba32:C0:T0:L0\n"
            "   Paths: total 2, broken 1, disabled 0\n");
  const std::string text = as_text(device_records(shown_devices(), TableFormat::kTable));
  EXPECT_THAT(text, AllOf(StartsWith("naa.60014051e7a0\n   Display Name: LIO-ORG"),
                          HasSubstr("   Size: 20480\n"), HasSubstr("   Status: degraded\n"),
                          HasSubstr("   Thin Provisioning Status: yes\n"),
                          HasSubstr("   VM: db1\n"), Not(HasSubstr("   Device: "))));
  auto devices = shown_devices();
  devices[0].working_path.clear();
  EXPECT_THAT(as_text(device_records(devices, TableFormat::kTable)),
              HasSubstr("   Status: dead\n"));
  devices = shown_devices();
  devices[0].paths.pop_back();
  EXPECT_THAT(as_text(device_records(devices, TableFormat::kTable)), HasSubstr("   Status: on\n"));
  EXPECT_THAT(as_text(device_records(devices, TableFormat::kCsv), TableFormat::kCsv),
              AllOf(StartsWith("Device,Display"), HasSubstr("\nnaa.60014051e7a0,")))
      << "completion takes names from there";
}

TEST(StorageTables, PathsTellWhichOneIsUsed) {
  const std::string text =
      as_text(nmp_path_records(shown_paths(), shown_devices(), TableFormat::kTable));
  EXPECT_THAT(text, AllOf(HasSubstr("   Group State: active\n"
                                    "   Path Selection Policy Path Config: {current: yes; "
                                    "preferred: yes}\n"),
                          HasSubstr("   Group State: dead\n"
                                    "   Path Selection Policy Path Config: {current: no; "
                                    "preferred: no}\n")));
  EXPECT_THAT(as_text(path_records(shown_paths(), shown_devices(), TableFormat::kTable)),
              HasSubstr("   Problem: the target is gone\n"));
}

TEST(StorageTables, ScsidevsHaveTheListsOfVsphere) {
  EXPECT_THAT(scsidevs_list(shown_devices()),
              AllOf(StartsWith("naa.60014051e7a0\n   Device Type: Direct-Access\n"),
                    HasSubstr("   Size: 20480 MB\n"),
                    HasSubstr("   Vendor: LIO-ORG  Model: disk  Revis: 4.0\n")));
  EXPECT_EQ(scsidevs_compact(shown_devices()),
            "Device UID        Device Type    Console Device                          Size     "
            "Multipath Plugin  Display Name\n"
            "naa.60014051e7a0  Direct-Access  /run/paravane/vms/naa.60014051e7a0.lun  20480MB  "
            "NMP               LIO-ORG SRP Disk (naa.60014051e7a0)\n");
}

TEST(StorageTables, WhatATargetSaysCannotMoveTheCursor) {
  auto devices = shown_devices();
  devices[0].display_name = "a\x1b[2Jb\n";
  devices[0].vendor = "\r";
  for (const std::string& text :
       {mpath_brief(devices), scsidevs_list(devices), scsidevs_compact(devices),
        as_text(device_records(devices, TableFormat::kTable))}) {
    EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\r")), HasSubstr("a?[2Jb?")));
  }
}

TEST(StorageTables, TargetsSayHowTheyAreReached) {
  const std::string text =
      srp_target_table(
          {{.target = {.vmhba = "vmhba32",
                       .address = "fe80::1",
                       .service = 1,
                       .id_ext = 2,
                       .ioc_guid = 3},
            .is_named = true,
            .state = model::TargetState::kLoggedIn,
            .luns = 4},
           {.target = {.vmhba = "vmhba32", .address = "192.0.2.7", .port = 5555}, .number = 1}})
          .print(TableFormat::kCsv);
  EXPECT_THAT(text, AllOf(HasSubstr("\nvmhba32,0,fe80::1,0x0000000000000001,0x0000000000000002,"
                                    "0x0000000000000003,true,logged in,4,-,"),
                          HasSubstr("\nvmhba32,1,192.0.2.7,port 5555,")));
}

}  // namespace
}  // namespace paravane::cli
