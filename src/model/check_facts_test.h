// A VM that has all it needs, in a cluster of two hosts, for tests of what it is told when
// something is missing; and how to find one row.

#pragma once

#include <gtest/gtest.h>

#include <string>

#include "model/vm_check.h"

namespace paravane::model {

inline VmCheckFacts good_facts() {
  VmCheckFacts facts{.vm = {}, .host = "h1"};
  facts.vm.spec.name = "db1";
  facts.vm.spec.adapters = {{.mac = MacAddress{2}, .port_group = "rdma"}};
  facts.vm.adapters = {{.socket = "/run/db1.sock", .tap = "pv-db1"}};
  facts.switches = {
      {.spec = {.name = "lan", .hosts = {{"h1", "eth1"}, {"h2", "eth1"}}}, .host = "h1"}};
  facts.port_groups = {{.name = "rdma", .vds = "lan", .vlan = 10}};
  facts.machine.nics = {
      {.name = "vmnic0", .linux_name = "eth0", .up = true, .carrier = true},
      {.name = "vmnic1", .linux_name = "eth1", .speed_mbps = 10'000, .up = true, .carrier = true}};
  facts.configuration.vmknics = {{.spec = {.name = "vmk0",
                                           .port_group = "Management Network",
                                           .ipv4 = parse_ipv4_interface("10.0.0.1/24")},
                                  .interface = "eth0",
                                  .tagged = true}};
  facts.configuration.settings = {{.path = std::string(kPvrdmaVmknic), .value = "vmk0"}};
  facts.configuration.rulesets = {{.name = "pvrdma", .enabled = true}};
  facts.configuration.channel.endpoint = "10.0.0.1:28250";
  facts.cluster = {.member = true, .host = "h1", .authority = "h1", .connected = true};
  for (const char* name : {"h1", "h2"}) {
    ClusterHost& host = facts.cluster.hosts.emplace_back();
    host.name = name;
    host.present = true;
  }
  facts.cluster.hosts[1].channel = "encrypted";
  return facts;
}

// One that is not there fails the test.
inline CheckRow row_of(const VmCheckFacts& facts, const std::string& check) {
  for (const CheckRow& row : check_vm(facts)) {
    if (row.check == check) return row;
  }
  ADD_FAILURE() << "no row " << check;
  return {};
}

inline CheckRow failed(std::string check, std::string found, std::string cure) {
  return {.check = std::move(check),
          .verdict = Verdict::kFailed,
          .found = std::move(found),
          .cure = std::move(cure)};
}
inline CheckRow stopping(std::string check, std::string found, std::string cure) {
  CheckRow row = failed(std::move(check), std::move(found), std::move(cure));
  row.stops_start = true;
  return row;
}
inline CheckRow warning(std::string check, std::string found, std::string cure) {
  CheckRow row = failed(std::move(check), std::move(found), std::move(cure));
  row.verdict = Verdict::kWarning;
  return row;
}
inline CheckRow good(std::string check, std::string found) {
  return {.check = std::move(check), .found = std::move(found)};
}

}  // namespace paravane::model
