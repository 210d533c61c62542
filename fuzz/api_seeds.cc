// Seeds for api_fuzz: one request of each kind, parsed and raw.

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/vm_json.h"
#include "json/json_text.h"

namespace {

std::vector<std::string> seeds() {
  paravane::model::VmSpec spec;
  spec.name = "db1";
  spec.adapters = {{.number = 1, .mac = paravane::model::mac_for_name("db1")}, {.number = 2}};
  for (const auto& field : paravane::model::kLimitFields) spec.limits.*field.member = field.max;
  const std::string body = paravane::print_json(paravane::api::to_json(spec));
  const std::string raw = "HTTP/1.1\r\nHost: localhost\r\n";
  return {
      "RGET\n/v1/status\n\n",
      "RGET\n/v1/vms\n\n",
      "RGET\n/v1/vms/db1\n\n",
      "RDELETE\n/v1/vms/db1\nforce=true\n",
      "RGET\n/v1/stats\nvm=db1\n",
      "RPOST\n/v1/daemon/stop\n\n{\"force\":true}",
      "RPOST\n/v1/vms\n\n" + body,
      "RPOST\n/v1/vms\n\n{\"name\":\"a\",\"doorbells\":\"trapped\",\"version\":17}",
      "RPATCH\n/v1/vms/db1\n\n{\"hw_version\":14,\"protocol\":\"v1\",\"limits\":{\"gids\":null}}",
      "RPATCH\n/v1/vms/db1\n\n{\"machine\":{\"memory_mib\":64,\"cpus\":2,\"accelerator\":\"tcg\","
      "\"lock_memory\":true,\"kernel\":\"/k\",\"append\":\"quiet\",\"qemu_arguments\":[\"-vga\"],"
      "\"disks\":[{\"file\":\"/a\",\"format\":\"qcow2\",\"read_only\":true}]}}",
      "RPOST\n/v1/vms/db1/adapters\n\n{\"protocol\":\"v2\"}",
      "RGET\n/v1/vms/db1/check\n\n",
      "RDELETE\n/v1/vms/db1/adapters/2\nforce=true\n",
      "RPOST\n/v1/captures\n\n{\"vm\":\"db1\",\"snaplen\":64}",
      "RGET\n/v1/captures\n\n",
      "RGET\n/v1/captures/1\n\n",
      "RDELETE\n/v1/captures/1\n\n",
      "RGET\n/v1/vds\n\n",
      "RPOST\n/v1/"
      "vds\n\n{\"name\":\"a\",\"mtu\":9000,\"hosts\":[{\"host\":\"h1\",\"uplink\":\"eth1\"}]}",
      "RPATCH\n/v1/vds/lan\n\n{\"mtu\":1500}",
      "RPOST\n/v1/vds/lan/hosts\n\n{\"host\":\"h2\",\"uplink\":\"eth1\"}",
      "RPATCH\n/v1/vds/lan/hosts/h1\n\n{\"uplink\":\"eth1\"}",
      "RDELETE\n/v1/vds/lan/hosts/h1\n\n",
      "RPOST\n/v1/portgroups\n\n{\"name\":\"b\",\"vds\":\"lan\",\"vlan\":10}",
      "RDELETE\n/v1/portgroups/b\n\n",
      "RGET\n/v1/host/nics\n\n",
      "RGET\n/v1/host/rdma-devices\n\n",
      "RGET\n/v1/host/rdma-devices/vmrdma0/stats\n\n",
      "RGET\n/v1/infiniband/adapters\n\n",
      "RPOST\n/v1/infiniband/"
      "adapters\n\n{\"name\":\"mlx4_1\",\"device\":\"MT25204\",\"bus\":14}",
      "RDELETE\n/v1/infiniband/adapters/mlx4_0\n\n",
      "RGET\n/v1/infiniband/uplinks\n\n",
      "RGET\n/v1/infiniband/modules\n\n",
      "RPATCH\n/v1/infiniband/modules/ib_ipoib\n\n"
      R"({"enabled":false,"options":"UplinkNum=4,6 NetQueue=1"})",
      "RPATCH\n/v1/infiniband/modules/mlx4_en\n\n"
      R"({"options":"port_types=13,1,1,13,2,2 port_type_default=1"})",
      "RGET\n/v1/infiniband/fabric\n\n",
      "RPOST\n/v1/infiniband/restart\n\n",
      "RGET\n/v1/storage/vmhbas\n\n",
      "RPATCH\n/v1/storage/vmhbas/vmhba32\n\n"
      R"({"port_group":"storage","ipv4":"192.0.2.9/24","gateway":"192.0.2.1"})",
      "RGET\n/v1/storage/targets\n\n",
      "RPOST\n/v1/storage/targets\n\n"
      R"({"vmhba":"vmhba32","address":"fe80::1","service":"0x5254000000770001",)"
      R"("id_ext":"0x5254000000770001","ioc_guid":"0x5254000000770001"})",
      "RPOST\n/v1/storage/targets\n\n"
      R"({"vmhba":"vmhba32","address":"192.0.2.7","port":5555,)"
      R"("id_ext":"0x0000000000000001","ioc_guid":"0x0000000000000002"})",
      "RDELETE\n/v1/storage/targets/vmhba32/0\nforce=true\n",
      "RGET\n/v1/storage/devices\n\n",
      "RGET\n/v1/storage/paths\n\n",
      "RPOST\n/v1/storage/rescan\n\n{}",
      "RPOST\n/v1/storage/rescan\n\n{\"vmhba\":\"vmhba32\"}",
      "RPATCH\n/v1/vms/db1\n\n"
      R"({"machine":{"disks":[{"lun":"naa.6001405","read_only":true},{"file":"/a"}]}})",
      "RGET\n/v1/events\n\n",
      "RGET\n/v1/events\nafter=1\n",
      "RGET\n/v1/events\nvm=db1\n",
      "RGET\n/v1/events\nwait_s=30\n",
      "RGET\n/metrics\n\n",
      "HGET /v1/events?after=0&boot=boot&limit=1&wait_s=1 " + raw + "\r\n",
      "MGET /metrics " + raw + "\r\n",
      "MPOST /v1/daemon/stop " + raw + "Content-Length: 0\r\n\r\n",
      "HGET /v1/vms " + raw + "\r\n",
      "HDELETE /v1/vms/db1?force=true " + raw + "\r\n",
      "HPOST /v1/vms " + raw + "Content-Type: application/json\r\nContent-Length: " +
          std::to_string(body.size()) + "\r\n\r\n" + body,
      "HPOST /v1/vms " + raw + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
  };
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int number = 0;
  for (const std::string& seed : seeds()) {
    std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(number++)));
    file << seed;
    if (!file) return 1;
  }
  return 0;
}
