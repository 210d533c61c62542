// Seeds for ipoib_uplink_fuzz: each kind of frame and packet between VMs and known and unknown
// nodes, and each way in which the subnet changes.

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "ipoib_uplink_script.h"

namespace {

using paravane::fake::IpoibPayload;
using paravane::fake::IpoibUplinkAct;
using paravane::fake::SeedBytes;

// Of types: IPv4, IPv6, ARP, RARP.
constexpr std::uint32_t kIpv4 = 0;
constexpr std::uint32_t kIpv6 = 1;
constexpr std::uint32_t kArp = 2;
constexpr std::uint32_t kRarp = 3;
// Of LIDs: one that administration knows, and one that it does not.
constexpr std::uint32_t kKnownLid = 8;
constexpr std::uint32_t kUnknownLid = 9;
constexpr std::uint32_t kPair = 16;

class Script {
 public:
  Script& act(IpoibUplinkAct what, std::initializer_list<std::uint32_t> numbers = {}) {
    seed_.u8(std::to_underlying(what));
    return bytes_of(numbers);
  }
  Script& bytes_of(std::initializer_list<std::uint32_t> numbers) {
    for (const std::uint32_t number : numbers) seed_.u8(number);
    return *this;
  }
  Script& payload(IpoibPayload kind, std::initializer_list<std::uint32_t> numbers,
                  std::initializer_list<std::uint32_t> changes = {}) {
    seed_.u8(std::to_underlying(kind));
    bytes_of(numbers);
    seed_.u8(static_cast<std::uint32_t>(changes.size() / 3));
    return bytes_of(changes);
  }
  // From VM 1 to all.
  Script& broadcast(std::uint32_t vlan, std::uint32_t type) {
    return act(IpoibUplinkAct::kFrame, {vlan, 4, 1, type});
  }
  // To a queue pair of the LID.
  Script& unicast(std::uint32_t vlan, std::uint32_t lid, std::uint32_t type) {
    return act(IpoibUplinkAct::kFrame, {vlan, 8, kPair, lid, 1, type});
  }
  // From a queue pair of the LID; `flags` 1: to the group.
  Script& packet(std::uint32_t flags, std::uint32_t lid, std::uint32_t type) {
    act(IpoibUplinkAct::kPacket, {flags, lid, kPair});
    if ((flags & 1) == 0) seed_.u8(kPair + 1);
    if ((flags & 8) == 0) bytes_of({kPair, 2});
    seed_.u8(type);
    return *this;
  }
  const std::vector<std::uint8_t>& bytes() const { return seed_.bytes(); }

 private:
  SeedBytes seed_;
};

void all_frames(Script& script, std::uint32_t vlan) {
  script.broadcast(vlan, kArp).payload(IpoibPayload::kArp, {1, 1, 7});
  script.broadcast(vlan, kRarp).payload(IpoibPayload::kArp, {3, 1, 7});
  script.broadcast(vlan, kIpv6).payload(IpoibPayload::kNeighbour, {2, 1});
  script.broadcast(vlan, kIpv4).payload(IpoibPayload::kIpv4, {80, 0, 17, 0});
  script.broadcast(vlan, kIpv4).payload(IpoibPayload::kRaw, {3, 1, 2, 3}, {0, 0, 9});
  script.act(IpoibUplinkAct::kFrame, {vlan, 2, 1, kIpv4}).payload(IpoibPayload::kDhcpAnswer, {});
  for (const std::uint32_t type : {0x11U, 0x12U, 0x16U, 0x17U, 0x22U})
    script.act(IpoibUplinkAct::kFrame, {vlan, 6, 1, kIpv4})
        .payload(IpoibPayload::kIgmp, {type, 3, 4, 1});
  for (const std::uint32_t type : {130U, 131U, 132U, 143U})
    script.act(IpoibUplinkAct::kFrame, {vlan, 5, 1, kIpv6})
        .payload(IpoibPayload::kMld, {type, 3, 4, 1});
  script.act(IpoibUplinkAct::kFrame, {vlan, 6, 1, kIpv4})
      .payload(IpoibPayload::kIpv4, {80, 0, 17, 0}, {0, 16, 224});
  for (const std::uint32_t lid : {kKnownLid, kUnknownLid, 0U, 1U}) {
    script.unicast(vlan, lid, kIpv4).payload(IpoibPayload::kIpv4, {200, 1, 17, 0});
    script.unicast(vlan, lid, kIpv4).payload(IpoibPayload::kIpv4, {0, 10, 17, 0});
    script.unicast(vlan, lid, kIpv6).payload(IpoibPayload::kIpv6, {0, 10, 17});
    script.unicast(vlan, lid, kIpv6).payload(IpoibPayload::kNeighbour, {3, 1});
    script.unicast(vlan, lid, kArp).payload(IpoibPayload::kArp, {2, 1, 8, kPair, lid});
  }
}

void all_packets(Script& script) {
  for (const std::uint32_t flags : {1U, 3U, 0U, 8U, 9U}) {
    for (const std::uint32_t lid : {kKnownLid, 0U, 1U}) {
      script.packet(flags, lid, kArp).payload(IpoibPayload::kArp, {1, kPair, 2, kPair + 2, 0});
      script.packet(flags, lid, kIpv4).payload(IpoibPayload::kIpv4, {80, 0, 17, 0});
      script.packet(flags, lid, kIpv6).payload(IpoibPayload::kNeighbour, {2, kPair, 2});
      script.packet(flags, lid, kIpv6).payload(IpoibPayload::kIpv6, {80, 0, 58}, {40, 0, 135});
      script.packet(flags, lid, kIpv4).payload(IpoibPayload::kIpv4, {0, 15, 17, 0});
    }
  }
}

std::vector<Script> seeds() {
  std::vector<Script> all;
  for (const std::uint32_t vlan : {0U, 1U, 2U}) {
    Script script;
    if (vlan == 2) script.act(IpoibUplinkAct::kVlan, {vlan, 0});
    all_frames(script, vlan);
    all_packets(script);
    all.push_back(script);
  }
  // Between two rounds of frames: all register again, the link goes and comes, another LID.
  for (const std::uint32_t change : {0U, 1U, 3U}) {
    Script script;
    all_frames(script, 0);
    script.act(IpoibUplinkAct::kChange, {change});
    all_frames(script, 0);
    script.act(IpoibUplinkAct::kTime, {20}).act(IpoibUplinkAct::kChange, {2});
    all_packets(script);
    all.push_back(script);
  }
  // Each of members' and paths' bad manners.
  for (const std::uint32_t of : {0U, 1U}) {
    for (const std::uint32_t flags : {1U, 2U, 4U, 8U, 16U, 32U}) {
      Script script;
      script.act(IpoibUplinkAct::kManners, {of, flags, 3}).act(IpoibUplinkAct::kChange, {0});
      all_frames(script, 0);
      script.act(IpoibUplinkAct::kTime, {60}).act(IpoibUplinkAct::kManners, {of, 0, 4});
      script.act(IpoibUplinkAct::kTime, {200});
      all_packets(script);
      all.push_back(script);
    }
  }
  // Groups: a controlled Q_Key, MTUs, LIDs, a level.
  Script groups;
  groups.act(IpoibUplinkAct::kGroup, {0, 1, 0, 0, 1, 128}).act(IpoibUplinkAct::kChange, {0});
  groups.act(IpoibUplinkAct::kGroup, {0, 2, 3}).act(IpoibUplinkAct::kTime, {10});
  groups.act(IpoibUplinkAct::kGroup, {0, 4, 7, 0}).act(IpoibUplinkAct::kTime, {20});
  groups.act(IpoibUplinkAct::kGroup, {0, 2, 5}).act(IpoibUplinkAct::kTime, {40});
  groups.act(IpoibUplinkAct::kGroup, {0, 8, 3}).act(IpoibUplinkAct::kChange, {0});
  all_frames(groups, 0);
  all.push_back(groups);
  // Partitions come and go, of the port and of the uplink.
  Script partitions;
  for (const std::uint32_t keys : {1U, 0U, 2U, 15U, 17U, 31U, 14U, 15U}) {
    partitions.act(IpoibUplinkAct::kKeys, {keys});
    partitions.unicast(1, kKnownLid, kIpv4).payload(IpoibPayload::kIpv4, {80, 0, 17, 0});
    partitions.broadcast(0, kArp).payload(IpoibPayload::kArp, {1, 1, 7});
    partitions.act(IpoibUplinkAct::kVlan, {keys % 4, keys & 1});
    partitions.act(IpoibUplinkAct::kVlan, {keys % 3, 0});
  }
  all.push_back(partitions);
  // Answers that were not asked for, of members and paths, and nodes that change.
  Script answers;
  for (std::uint32_t number = 0; number < 4; ++number) {
    answers.act(IpoibUplinkAct::kAnswer, {number, 10, 0x81, 0, 0, 0, 7, 0, 0, 0, 0, 192, 4});
    answers.act(IpoibUplinkAct::kAnswer, {number, 2, 0x81, 0, 0, kKnownLid, 4, 0, 0});
    answers.act(IpoibUplinkAct::kAnswer, {number, 3, 0x92, 0, 3, kUnknownLid, 4, 0, 0});
    answers.unicast(0, kUnknownLid, kIpv4).payload(IpoibPayload::kIpv4, {80, 0, 17, 0});
    answers.act(IpoibUplinkAct::kNode, {number, number & 1});
    answers.act(IpoibUplinkAct::kTime, {11});
  }
  all.push_back(answers);
  // Addresses that move within a team.
  Script moves;
  for (std::uint32_t vlan = 0; vlan < 2; ++vlan) {
    all_frames(moves, vlan);
    for (std::uint32_t mac = 0; mac < 4; ++mac) moves.act(IpoibUplinkAct::kMove, {vlan, mac});
    all_packets(moves);
  }
  all.push_back(moves);
  // Silence until paths and addresses are old.
  Script silence;
  all_frames(silence, 0);
  for (unsigned i = 0; i < 12; ++i) silence.act(IpoibUplinkAct::kTime, {255});
  all_frames(silence, 0);
  all.push_back(silence);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int number = 0;
  for (const Script& seed : seeds()) {
    std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(number++)),
                       std::ios::binary);
    const std::vector<std::uint8_t>& bytes = seed.bytes();
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file) return 1;
  }
  return 0;
}
