// Seeds for ipoib_frames_fuzz: ARP and each message of neighbour discovery on both links, with good
// and bad options, behind other headers and in fragments; DHCP; packets that are too big.

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "ipoib/arp.h"
#include "ipoib/frame.h"
#include "ipoib_frames_script.h"
#include "wire/roce/headers.h"

namespace {

using namespace paravane;
using ipoib::IpoibAddress;
using ipoib::MacBytes;
using wire::infiniband::EncapsulationHeader;
using wire::roce::kEtherTypeIpv4;
using wire::roce::kEtherTypeIpv6;

using Bytes = std::vector<std::byte>;

constexpr MacBytes kVm{0x02, 0x50, 0x56, 0, 0, 1};
constexpr MacBytes kNode{0x02, 0, 0, 0x48, 0, 7};
constexpr std::uint8_t kMends = fake::kMendsLengths | fake::kMendsChecksums;

// As the fuzzer maps them.
IpoibAddress address_for(const MacBytes& mac) {
  IpoibAddress address{.flags = 0, .number = Be24(0x48), .gid = {0xFE, 0x80}};
  std::ranges::copy(mac, address.gid.begin() + 10);
  return address;
}

void append(Bytes& bytes, std::initializer_list<int> more) {
  for (const int byte : more) bytes.push_back(static_cast<std::byte>(byte));
}
template <typename T>
void append_struct(Bytes& bytes, const T& value) {
  const auto raw = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

class Seeds {
 public:
  void add_frame(std::uint16_t type, const Bytes& packet, std::optional<ipoib::Vlan> vlan = {}) {
    Bytes frame;
    ipoib::write_frame(
        {.destination = kNode, .source = kVm, .vlan = vlan, .type = type, .payload = packet},
        frame);
    add(kMends, frame);
  }
  void add_datagram(std::uint16_t type, const Bytes& packet) {
    Bytes payload;
    append_struct(payload, EncapsulationHeader{.type = Be16(type), .reserved = {}});
    payload.insert(payload.end(), packet.begin(), packet.end());
    add(kMends | fake::kFromInfiniband, payload);
  }
  const std::vector<std::vector<std::uint8_t>>& all() const { return all_; }

 private:
  void add(std::uint32_t flags, const Bytes& bytes) {
    fake::SeedBytes seed;
    seed.u8(flags).u16(1280);
    for (const std::byte byte : bytes) seed.u8(std::to_integer<std::uint32_t>(byte));
    all_.push_back(seed.bytes());
  }
  std::vector<std::vector<std::uint8_t>> all_;
};

void add_arp(Seeds& seeds) {
  for (const std::uint16_t operation : std::initializer_list<std::uint16_t>{1, 2, 3, 4, 5}) {
    const ipoib::EthernetArp arp{.operation = ipoib::ArpOperation{operation},
                                 .sender = kVm,
                                 .sender_ipv4 = {10, 0, 0, 1},
                                 .target = kNode,
                                 .target_ipv4 = {10, 0, 0, 2}};
    const auto ethernet = ipoib::ethernet_arp(arp);
    seeds.add_frame(ipoib::type_of(arp.operation), Bytes(ethernet.begin(), ethernet.end()));
    const auto infiniband =
        ipoib::infiniband_arp(to_infiniband(arp, address_for(kVm), address_for(kNode)));
    seeds.add_datagram(ipoib::type_of(arp.operation), Bytes(infiniband.begin(), infiniband.end()));
  }
}

Bytes ipv6(std::uint8_t next_header, const Bytes& payload, std::uint8_t hop_limit = 255) {
  wire::roce::LongHeader header;
  header.version_class_flow.set(6U << 28);
  header.next_header = next_header;
  header.hop_limit = hop_limit;
  header.source = {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  header.destination = {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  Bytes packet;
  append_struct(packet, header);
  packet.insert(packet.end(), payload.begin(), payload.end());
  return packet;
}

Bytes option(int type, const MacBytes& mac, bool of_infiniband) {
  Bytes bytes;
  append(bytes, {type, of_infiniband ? 3 : 1});
  if (of_infiniband) {
    append(bytes, {0, 0});
    append_struct(bytes, address_for(mac));
  } else {
    append_struct(bytes, mac);
  }
  return bytes;
}

void add_discovery(Seeds& seeds) {
  constexpr std::size_t kBytes[] = {8, 16, 24, 24, 40};
  for (int type = 133; type <= 137; ++type) {
    for (const bool of_infiniband : {false, true}) {
      const auto add = [&](const Bytes& packet) {
        if (of_infiniband)
          seeds.add_datagram(kEtherTypeIpv6, packet);
        else
          seeds.add_frame(kEtherTypeIpv6, packet);
      };
      Bytes message(kBytes[type - 133]);
      message[0] = static_cast<std::byte>(type);
      add(ipv6(58, message));
      append(message, {5, 1, 0, 0, 0, 0, 7, 0xFC});
      for (const auto& [number, mac] : {std::pair(1, kVm), std::pair(2, kNode)}) {
        const Bytes more = option(number, mac, of_infiniband);
        message.insert(message.end(), more.begin(), more.end());
      }
      add(ipv6(58, message));
      for (const int next : {0, 44, 51}) {
        Bytes behind;
        append(behind, {58, 0, 0, 1, 0, 0, 0, 0});
        behind.insert(behind.end(), message.begin(), message.end());
        add(ipv6(static_cast<std::uint8_t>(next), behind));
      }
      append(message, {5, 0, 0, 0, 0, 0, 0, 0});
      add(ipv6(58, message));
      message[message.size() - 7] = std::byte{9};
      add(ipv6(58, message));
      message.resize(kBytes[type - 133]);
      for (int i = 0; i < 5; ++i) {
        const Bytes more = option(1, kVm, of_infiniband);
        message.insert(message.end(), more.begin(), more.end());
      }
      add(ipv6(58, message));
    }
  }
}

Bytes ipv4(std::uint8_t protocol, const Bytes& payload) {
  wire::roce::Ipv4Header header;
  header.flags_fragment.set(wire::roce::kDoNotFragment);
  header.protocol = protocol;
  header.source = {10, 0, 0, 1};
  header.destination = {10, 0, 0, 2};
  Bytes packet;
  append_struct(packet, header);
  packet.insert(packet.end(), payload.begin(), payload.end());
  return packet;
}

void add_ip(Seeds& seeds) {
  Bytes dhcp;
  append(dhcp, {0, 67, 0, 68, 0, 12, 0, 0, 2, 1, 6, 0});
  seeds.add_frame(kEtherTypeIpv4, ipv4(17, dhcp));
  seeds.add_frame(kEtherTypeIpv4, ipv4(17, dhcp),
                  ipoib::Vlan{.number = 5, .priority = 3, .may_be_dropped = true});
  seeds.add_datagram(kEtherTypeIpv4, ipv4(17, dhcp));
  for (const int type : {3, 8}) {
    Bytes icmp(1400);
    icmp[0] = static_cast<std::byte>(type);
    seeds.add_frame(kEtherTypeIpv4, ipv4(1, icmp));
    seeds.add_frame(kEtherTypeIpv6, ipv6(58, icmp));
    icmp[0] = std::byte{128};
    seeds.add_frame(kEtherTypeIpv6, ipv6(58, icmp));
    icmp[0] = std::byte{17};
    seeds.add_frame(kEtherTypeIpv6, ipv6(44, icmp));
  }
  seeds.add_frame(kEtherTypeIpv6, ipv6(17, Bytes(1400)));
  seeds.add_frame(wire::roce::kEtherTypeVlan, Bytes(8));
}

// Messages of IGMP and MLD with one group, and reports with two records.
void add_reports(Seeds& seeds) {
  constexpr int kSources = 2;
  const auto add = [&](int type, const Bytes& group, bool is_ipv6) {
    Bytes message;
    const bool has_records = type == 0x22 || type == 143;
    append(message, {type, 0, 0, 0});
    if (has_records) {
      append(message, {0, 0, 0, 2});
      for (const int record : {3, 4}) {
        append(message, {record, 0, 0, kSources});
        for (int i = 0; i < 1 + kSources; ++i)
          message.insert(message.end(), group.begin(), group.end());
      }
    } else {
      if (is_ipv6) append(message, {0, 0, 0, 0});
      message.insert(message.end(), group.begin(), group.end());
    }
    seeds.add_frame(is_ipv6 ? kEtherTypeIpv6 : kEtherTypeIpv4,
                    is_ipv6 ? ipv6(58, message, 1) : ipv4(2, message));
  };
  Bytes ipv4_group;
  append(ipv4_group, {239, 1, 2, 3});
  for (const int type : {0x11, 0x12, 0x16, 0x17, 0x22}) add(type, ipv4_group, false);
  Bytes ipv6_group(16);
  ipv6_group[0] = std::byte{0xFF};
  ipv6_group[1] = std::byte{2};
  for (const int type : {130, 131, 132, 143}) add(type, ipv6_group, true);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Seeds seeds;
  add_arp(seeds);
  add_discovery(seeds);
  add_ip(seeds);
  add_reports(seeds);
  int number = 0;
  for (const auto& seed : seeds.all()) {
    std::ofstream file(std::filesystem::path(argv[1]) / ("seed" + std::to_string(number++)),
                       std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()),
               static_cast<std::streamsize>(seed.size()));
    if (!file) return 1;
  }
  return 0;
}
