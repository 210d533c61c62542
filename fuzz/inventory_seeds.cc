// Seeds for inventory_fuzz: two hosts' keys that contend, etcd's answers, requests at
// the door, a certificate, a succession, a backup.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "authority/certificate.h"
#include "authority/door_message.h"
#include "authority/succession.h"
#include "authority/token.h"
#include "cluster/cluster_backup.h"
#include "inventory/view.h"
#include "model/segment.h"

namespace {

using namespace paravane;

std::string keys() {
  const model::MacAddress mac{0x02, 0x50, 0x56, 0, 0, 1};
  const model::AdapterName adapter{"db1", 1};
  const model::DistributedSwitch vds{.name = "lan"};
  const model::PortGroup group{.name = "p", .vds = "lan", .vlan = 10};
  const model::Network network{.switches = {{vds.name, vds}}, .port_groups = {{group.name, group}}};
  const inventory::GidId gid{.segment = model::segment_number(network, "p").value_or(0),
                             .gid = inventory::link_local_gid(mac),
                             .type = inventory::RoceType::kV2};
  inventory::OwnKeys own;
  inventory::say_info(own, {.address = "192.0.2.1",
                            .port = 28250,
                            .version = "1",
                            .closed = {},
                            .key = std::string(64, 'a')});
  inventory::say_adapter(own, adapter, {.mac = mac, .port_group = "p"});
  inventory::say_gid(own, gid, adapter);
  const std::string config(inventory::kConfigPrefix);
  std::string text = "K" + config + inventory::switch_document(vds.name) + " " +
                     inventory::print_switch(vds) + "\n" + config +
                     inventory::port_group_document(group.name) + " " +
                     inventory::print_port_group(group) + "\n";
  for (const char* host : {"h1", "h2"}) {
    for (const auto& [key, value] : own) {
      text += inventory::host_prefix(host) + key + " " + value + "\n";
    }
  }
  const std::string key(64, 'a');
  text += config + inventory::member_document("h1") + " " +
          inventory::print_member("h1", {.joined = key, .keys = {key, std::string(64, 'b')}}) +
          "\n";
  return text + config + "other/s {\"mtu\":9000}\n-" + inventory::host_prefix("h1") +
         inventory::gid_key(gid, adapter) + "\n";
}

std::string succession(const authority::KeyPair& keys, const std::string& cluster) {
  return keys.certificate + '\0' +
         authority::print_succession({.keeper = {.cluster = cluster, .host = "h2"},
                                      .term = 1,
                                      .door = "192.0.2.2:28249",
                                      .etcd = {"https://192.0.2.2:2379"},
                                      .before = "192.0.2.1:28249"},
                                     keys.key)
             .value_or("");
}

std::string backup(const authority::KeyPair& keys, const std::string& cluster) {
  cluster::ClusterBackup backup{.made = authority::kAuthoritySince,
                                .version = "1",
                                .authority = keys,
                                .membership = {.self = {.cluster = cluster, .host = "h1"},
                                               .authority = "h1",
                                               .door = "192.0.2.1:28249",
                                               .runs_etcd = true,
                                               .own_etcd_authority = true,
                                               .etcd = {"https://192.0.2.1:2379"},
                                               .etcd_user = "u",
                                               .etcd_password = "p"},
                                .book = {}};
  backup.book.members.admit("h1", std::string(64, 'a'));
  backup.book.generation = {.number = 1, .marks = {"0123456789abcdef"}};
  backup.book.curbed.insert("h3");
  backup.inventory.keys.push_back(
      {.key = std::string(inventory::kConfigPrefix) + "vds/lan", .value = R"({"name":"lan"})"});
  return cluster::print_backup(backup);
}

std::vector<std::string> seeds() {
  const std::string cluster(32, 'a');
  const authority::Token token{.door = "192.0.2.1:28249",
                               .fingerprint = std::string(64, 'b'),
                               .keeper = {cluster, "h1"},
                               .id = std::string(16, 'c'),
                               .secret = std::string(64, 'd')};
  using Kind = authority::DoorRequest::Kind;
  const auto keypair =
      authority::make_authority(cluster, authority::Seconds(std::chrono::seconds(1'800'000'000)));
  return {
      keys(),
      R"(E{"header":{"revision":"9"},"more":true,"kvs":[{"key":"YQ==","value":"Yg==",)"
      R"("create_revision":"4","mod_revision":"5","lease":"77"}]})",
      R"(E{"result":{"header":{"revision":"6"},"created":true,"events":[{"kv":{"key":"YQ=="}},)"
      R"({"type":"DELETE","kv":{"key":"Yw==","mod_revision":"6"}}]}})",
      R"(E{"result":{"header":{"revision":"6"},"canceled":true,"compact_revision":"5"}})",
      R"(E{"error":"etcdserver: permission denied","code":7})",
      "D" + authority::print_request(
                {.kind = Kind::kJoin, .token_id = "t", .secret = "s", .request = "r"}),
      "D" + authority::print_request(
                {.kind = Kind::kRenew, .token_id = {}, .secret = {}, .request = "r"}),
      "D" + authority::print_answer({.problem = {},
                                     .host = "h2",
                                     .certificate = "c",
                                     .authority = "a",
                                     .etcd = {"https://192.0.2.1:2379"},
                                     .etcd_authority = {},
                                     .etcd_user = "u",
                                     .etcd_password = "p"}),
      "D" + authority::print_answer(
                {.host = "h3", .sees = "h1", .clock_s = 1'795'600'000, .generation = 18}),
      "D" + authority::print_token(token),
      "C" + (keypair ? keypair->certificate : std::string()),
      "S" + (keypair ? succession(*keypair, cluster) : std::string()),
      "B" + (keypair ? backup(*keypair, cluster) : std::string()),
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
