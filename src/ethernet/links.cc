#include "ethernet/links.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "ethernet/rtnl_socket.h"

namespace paravane::ethernet {
namespace {

// What forbid_ipv4() sets.
constexpr std::uint32_t kNever = 8;   // arp_ignore
constexpr std::uint32_t kStrict = 1;  // rp_filter: only from where the answer would go, which
                                      // is never to an interface without an address

constexpr std::size_t kMostAddresses = 4096;  // that are told of a bridge

std::string text_of(const nlattr* attribute) {
  if (attribute == nullptr) return {};
  const auto* text = static_cast<const char*>(nla_data(attribute));
  return {text, ::strnlen(text, static_cast<std::size_t>(nla_len(attribute)))};
}

std::string mac_of(const nlattr* attribute) {
  if (attribute == nullptr || nla_len(attribute) != 6) return {};
  const auto* bytes = static_cast<const std::uint8_t*>(nla_data(attribute));
  return fmt::format("{:02x}", fmt::join(bytes, bytes + 6, ":"));
}

std::uint32_t u32_of(const nlattr* attribute, std::uint32_t otherwise) {
  if (attribute == nullptr || nla_len(attribute) < 4) return otherwise;
  return nla_get_u32(attribute);
}

template <std::size_t N>
void parse_nested(const nlattr* attribute, std::array<nlattr*, N>& parts) {
  parts.fill(nullptr);
  if (attribute == nullptr) return;
  nla_parse_nested(parts.data(), static_cast<int>(N) - 1, const_cast<nlattr*>(attribute), nullptr);
}

void read_link_info(const nlattr* info, Link& link) {
  std::array<nlattr*, IFLA_INFO_MAX + 1> parts;
  parse_nested(info, parts);
  link.kind = text_of(parts[IFLA_INFO_KIND]);
  if (link.kind != "bridge") return;
  std::array<nlattr*, IFLA_BR_MAX + 1> data;
  parse_nested(parts[IFLA_INFO_DATA], data);
  const nlattr* filtering = data[IFLA_BR_VLAN_FILTERING];
  link.filters_vlans = filtering != nullptr && nla_get_u8(filtering) != 0;
}

// A setting of IPv4 of one interface; nullopt: the kernel does not say.
std::optional<std::uint32_t> ipv4_setting(const nlattr* families, std::size_t number) {
  std::array<nlattr*, AF_INET + 1> family;
  parse_nested(families, family);
  std::array<nlattr*, IFLA_INET_MAX + 1> parts;
  parse_nested(family[AF_INET], parts);
  const nlattr* values = parts[IFLA_INET_CONF];
  if (values == nullptr || nla_len(values) < static_cast<int>(number * sizeof(std::uint32_t))) {
    return std::nullopt;
  }
  std::uint32_t value = 0;  // they are an array, and the first has number 1
  const auto* bytes = static_cast<const std::uint8_t*>(nla_data(values));
  std::memcpy(&value, bytes + (number - 1) * sizeof value, sizeof value);
  return value;
}

std::vector<Link> read_links(const std::vector<nlmsghdr*>& headers) {
  std::vector<Link> links;
  for (nlmsghdr* header : headers) {
    std::array<nlattr*, IFLA_MAX + 1> parts{};
    if (header->nlmsg_type != RTM_NEWLINK ||
        nlmsg_parse(header, sizeof(ifinfomsg), parts.data(), IFLA_MAX, nullptr) < 0) {
      continue;
    }
    const auto* info = static_cast<const ifinfomsg*>(nlmsg_data(header));
    Link link{.index = info->ifi_index,
              .name = text_of(parts[IFLA_IFNAME]),
              .kind = {},
              .mark = text_of(parts[IFLA_IFALIAS]),
              .master = static_cast<int>(u32_of(parts[IFLA_MASTER], 0)),
              .mtu = u32_of(parts[IFLA_MTU], 0),
              .queue_length = u32_of(parts[IFLA_TXQLEN], 0),
              .up = (info->ifi_flags & IFF_UP) != 0,
              .loopback = (info->ifi_flags & IFF_LOOPBACK) != 0,
              .ethernet = info->ifi_type == ARPHRD_ETHER,
              .carrier = (info->ifi_flags & IFF_LOWER_UP) != 0,
              .silent = ipv4_setting(parts[IFLA_AF_SPEC], IPV4_DEVCONF_ARP_IGNORE) == kNever &&
                        ipv4_setting(parts[IFLA_AF_SPEC], IPV4_DEVCONF_RP_FILTER) == kStrict,
              .mac = mac_of(parts[IFLA_ADDRESS]),
              .own_mac = mac_of(parts[IFLA_PERM_ADDRESS]),
              .parent = text_of(parts[IFLA_PARENT_DEV_NAME]),
              .parent_bus = text_of(parts[IFLA_PARENT_DEV_BUS_NAME])};
    read_link_info(parts[IFLA_LINKINFO], link);
    links.push_back(std::move(link));
  }
  return links;
}

void read_vlans(const nlattr* spec, PortVlans& vlans) {
  if (spec == nullptr) return;
  std::uint16_t first = 0;
  int left = 0;
  nlattr* part = nullptr;
  nla_for_each_nested(part, spec, left) {
    bridge_vlan_info info{};
    if (nla_type(part) != IFLA_BRIDGE_VLAN_INFO || nla_len(part) < static_cast<int>(sizeof info)) {
      continue;
    }
    std::memcpy(&info, nla_data(part), sizeof info);
    if ((info.flags & BRIDGE_VLAN_INFO_RANGE_BEGIN) != 0) {
      first = info.vid;
      continue;
    }
    if ((info.flags & BRIDGE_VLAN_INFO_RANGE_END) == 0) first = info.vid;
    for (std::uint32_t vid = first; vid <= info.vid; ++vid) {
      vlans.untagged_by_vid[static_cast<std::uint16_t>(vid)] =
          (info.flags & BRIDGE_VLAN_INFO_UNTAGGED) != 0;
    }
    if ((info.flags & BRIDGE_VLAN_INFO_PVID) != 0) vlans.pvid = info.vid;
  }
}

std::string address_of(const nlattr* attribute, int family) {
  const int size = family == AF_INET ? 4 : 16;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (attribute == nullptr || nla_len(attribute) != size) return {};
  const char* done = ::inet_ntop(family, nla_data(attribute), text.data(), text.size());
  return done == nullptr ? std::string() : std::string(done);
}

}  // namespace

Links::Links(std::unique_ptr<RtnlSocket> socket) : socket_(std::move(socket)) {}
Links::~Links() = default;
Links::Links(Links&&) noexcept = default;
Links& Links::operator=(Links&&) noexcept = default;

Result<Links> Links::open() {
  auto socket = std::make_unique<RtnlSocket>();
  if (Status connected = socket->connect(); !connected) return std::unexpected(connected.error());
  return Links(std::move(socket));
}

Result<std::vector<Link>> Links::list() {
  const auto answer = socket_->ask([] { return Message(RTM_GETLINK, NLM_F_DUMP, AF_UNSPEC, 0); });
  if (!answer) return std::unexpected(answer.error());
  return read_links(*answer);
}

Result<std::map<int, std::vector<std::string>>> Links::addresses() {
  // The header of this question is read as an ifaddrmsg, all of whose fields are 0.
  const auto answer = socket_->ask([] { return Message(RTM_GETADDR, NLM_F_DUMP, AF_UNSPEC, 0); });
  if (!answer) return std::unexpected(answer.error());
  std::map<int, std::vector<std::string>> addresses;
  for (nlmsghdr* header : *answer) {
    std::array<nlattr*, IFA_MAX + 1> parts{};
    if (header->nlmsg_type != RTM_NEWADDR ||
        nlmsg_parse(header, sizeof(ifaddrmsg), parts.data(), IFA_MAX, nullptr) < 0) {
      continue;
    }
    const auto* info = static_cast<const ifaddrmsg*>(nlmsg_data(header));
    if (info->ifa_scope >= RT_SCOPE_LINK) continue;
    const nlattr* own = parts[IFA_LOCAL] != nullptr ? parts[IFA_LOCAL] : parts[IFA_ADDRESS];
    std::string text = address_of(own, info->ifa_family);
    if (!text.empty()) addresses[static_cast<int>(info->ifa_index)].push_back(std::move(text));
  }
  return addresses;
}

Result<std::map<int, std::vector<Ipv4Interface>>> Links::ipv4_addresses() {
  const auto answer = socket_->ask([] { return Message(RTM_GETADDR, NLM_F_DUMP, AF_INET, 0); });
  if (!answer) return std::unexpected(answer.error());
  std::map<int, std::vector<Ipv4Interface>> addresses;
  for (nlmsghdr* header : *answer) {
    std::array<nlattr*, IFA_MAX + 1> parts{};
    if (header->nlmsg_type != RTM_NEWADDR ||
        nlmsg_parse(header, sizeof(ifaddrmsg), parts.data(), IFA_MAX, nullptr) < 0) {
      continue;
    }
    const auto* info = static_cast<const ifaddrmsg*>(nlmsg_data(header));
    const nlattr* own = parts[IFA_LOCAL];
    if (info->ifa_family != AF_INET || own == nullptr || nla_len(own) != 4) continue;
    addresses[static_cast<int>(info->ifa_index)].push_back(
        {.address = ntohl(nla_get_u32(own)), .prefix = info->ifa_prefixlen});
  }
  return addresses;
}

Result<std::map<int, PortVlans>> Links::port_vlans() {
  const auto answer = socket_->ask([] {
    Message question(RTM_GETLINK, NLM_F_DUMP, AF_BRIDGE, 0);
    question.u32(IFLA_EXT_MASK, RTEXT_FILTER_BRVLAN_COMPRESSED);
    return question;
  });
  if (!answer) return std::unexpected(answer.error());
  std::map<int, PortVlans> vlans;
  for (nlmsghdr* header : *answer) {
    std::array<nlattr*, IFLA_MAX + 1> parts{};
    if (header->nlmsg_type != RTM_NEWLINK ||
        nlmsg_parse(header, sizeof(ifinfomsg), parts.data(), IFLA_MAX, nullptr) < 0) {
      continue;
    }
    const auto* info = static_cast<const ifinfomsg*>(nlmsg_data(header));
    read_vlans(parts[IFLA_AF_SPEC], vlans[info->ifi_index]);
  }
  return vlans;
}

Result<std::vector<BridgeAddress>> Links::bridge_addresses(int bridge) {
  const auto answer = socket_->ask([bridge] {
    Message question(RTM_GETNEIGH, NLM_F_DUMP, AF_BRIDGE, 0);
    question.u32(IFLA_MASTER, static_cast<std::uint32_t>(bridge));
    return question;
  });
  if (!answer) return std::unexpected(answer.error());
  std::vector<BridgeAddress> addresses;
  for (nlmsghdr* header : *answer) {
    std::array<nlattr*, NDA_MAX + 1> parts{};
    if (header->nlmsg_type != RTM_NEWNEIGH || addresses.size() >= kMostAddresses ||
        nlmsg_parse(header, sizeof(ndmsg), parts.data(), NDA_MAX, nullptr) < 0) {
      continue;
    }
    const auto* info = static_cast<const ndmsg*>(nlmsg_data(header));
    const nlattr* mac = parts[NDA_LLADDR];
    // A port's own address is permanent.
    if ((info->ndm_state & NUD_PERMANENT) != 0 || mac == nullptr || nla_len(mac) != 6) continue;
    if (u32_of(parts[NDA_MASTER], 0) != static_cast<std::uint32_t>(bridge)) continue;
    BridgeAddress& address = addresses.emplace_back();
    std::memcpy(address.mac.data(), nla_data(mac), address.mac.size());
    if (parts[NDA_VLAN] != nullptr && nla_len(parts[NDA_VLAN]) >= 2) {
      address.vlan = nla_get_u16(parts[NDA_VLAN]);
    }
    address.port = info->ndm_ifindex;
  }
  return addresses;
}

Status Links::add_bridge(const std::string& name, bool vlan_aware) {
  Message message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, AF_UNSPEC, 0);
  message.text(IFLA_IFNAME, name);
  message.nest(IFLA_LINKINFO, [vlan_aware](Message& info) {
    info.text(IFLA_INFO_KIND, "bridge");
    info.nest(IFLA_INFO_DATA, [vlan_aware](Message& data) {
      data.u32(IFLA_BR_STP_STATE, 0).u8(IFLA_BR_MCAST_SNOOPING, 0);
      if (!vlan_aware) return;
      // No VLAN by default: neither this host nor a port is in a VLAN that was not requested.
      data.u8(IFLA_BR_VLAN_FILTERING, 1).u16(IFLA_BR_VLAN_DEFAULT_PVID, 0);
    });
  });
  return socket_->send(message);
}

Status Links::add_pair(const std::string& name,
                       const std::optional<std::array<std::uint8_t, 6>>& mac,
                       const std::string& other) {
  Message message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, AF_UNSPEC, 0);
  message.text(IFLA_IFNAME, name);
  if (mac) message.bytes(IFLA_ADDRESS, mac->data(), static_cast<int>(mac->size()));
  message.nest(IFLA_LINKINFO, [&other](Message& info) {
    info.text(IFLA_INFO_KIND, "veth");
    info.nest(IFLA_INFO_DATA, [&other](Message& data) {
      data.nest(VETH_INFO_PEER, [&other](Message& peer) { peer.link().text(IFLA_IFNAME, other); });
    });
  });
  return socket_->send(message);
}

Status Links::remove(int index) {
  return socket_->send(Message(RTM_DELLINK, 0, AF_UNSPEC, index));
}

Status Links::set_mark(int index, const std::string& mark) {
  Message message(RTM_NEWLINK, 0, AF_UNSPEC, index);
  return socket_->send(message.text(IFLA_IFALIAS, mark));
}

Status Links::set_master(int index, int master) {
  Message message(RTM_NEWLINK, 0, AF_UNSPEC, index);
  return socket_->send(message.u32(IFLA_MASTER, static_cast<std::uint32_t>(master)));
}

Status Links::set_mtu(int index, std::uint32_t mtu) {
  Message message(RTM_NEWLINK, 0, AF_UNSPEC, index);
  return socket_->send(message.u32(IFLA_MTU, mtu));
}

Status Links::set_queue_length(int index, std::uint32_t frames) {
  Message message(RTM_NEWLINK, 0, AF_UNSPEC, index);
  return socket_->send(message.u32(IFLA_TXQLEN, frames));
}

Status Links::set_up(int index) {
  return socket_->send(Message(RTM_NEWLINK, 0, AF_UNSPEC, index, IFF_UP));
}

Status Links::set_down(int index) {
  return socket_->send(Message::to_switch_off(index));
}

Status Links::add_address(int index, const Ipv4Interface& address) {
  Message message = Message::of_address(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, index,
                                        static_cast<std::uint8_t>(address.prefix));
  message.u32(IFA_LOCAL, htonl(address.address)).u32(IFA_ADDRESS, htonl(address.address));
  return socket_->send(message.u32(IFA_BROADCAST, htonl(address.broadcast())));
}

Status Links::remove_address(int index, const Ipv4Interface& address) {
  Message message =
      Message::of_address(RTM_DELADDR, 0, index, static_cast<std::uint8_t>(address.prefix));
  return socket_->send(message.u32(IFA_LOCAL, htonl(address.address)));
}

Status Links::forbid_own_address(int index) {
  Message message(RTM_NEWLINK, 0, AF_UNSPEC, index);
  message.nest(IFLA_AF_SPEC, [](Message& spec) {
    spec.nest(AF_INET6,
              [](Message& ipv6) { ipv6.u8(IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE); });
  });
  return socket_->send(message);
}

Status Links::forbid_ipv4(int index) {
  Message message(RTM_NEWLINK, 0, AF_UNSPEC, index);
  message.nest(IFLA_AF_SPEC, [](Message& spec) {
    spec.nest(AF_INET, [](Message& ipv4) {
      ipv4.nest(IFLA_INET_CONF, [](Message& settings) {
        settings.u32(IPV4_DEVCONF_ARP_IGNORE, kNever);
        settings.u32(IPV4_DEVCONF_RP_FILTER, kStrict);
      });
    });
  });
  return socket_->send(message);
}

Status Links::set_port_vlans(int index, const PortVlans& old, const PortVlans& vlans) {
  const auto change = [&](int type, std::uint16_t vid, std::uint16_t flags) {
    const bridge_vlan_info info{.flags = flags, .vid = vid};
    Message message(type, 0, AF_BRIDGE, index);
    message.nest(IFLA_AF_SPEC,
                 [&info](Message& spec) { spec.bytes(IFLA_BRIDGE_VLAN_INFO, &info, sizeof info); });
    return socket_->send(message);
  };
  for (const auto& [vid, untagged] : old.untagged_by_vid) {
    if (vlans.untagged_by_vid.contains(vid)) continue;
    if (Status done = change(RTM_DELLINK, vid, 0); !done) return done;
  }
  for (const auto& [vid, untagged] : vlans.untagged_by_vid) {
    const auto before = old.untagged_by_vid.find(vid);
    const bool same = before != old.untagged_by_vid.end() && before->second == untagged &&
                      (old.pvid == vid) == (vlans.pvid == vid);
    if (same) continue;
    const int flags = (untagged ? BRIDGE_VLAN_INFO_UNTAGGED : 0) |
                      (vlans.pvid == vid ? BRIDGE_VLAN_INFO_PVID : 0);
    if (Status done = change(RTM_SETLINK, vid, static_cast<std::uint16_t>(flags)); !done) {
      return done;
    }
  }
  return {};
}

Result<Holder> find_holder(const std::string& address) {
  auto links = Links::open();
  if (!links) return std::unexpected(links.error());
  const auto all = links->list();
  const auto addresses = links->addresses();
  auto ipv4 = links->ipv4_addresses();
  if (!all || !addresses || !ipv4) return fail(Errc::kIo, "cannot list the interfaces");
  for (const Link& link : *all) {
    const auto own = addresses->find(link.index);
    if (own == addresses->end() || std::ranges::count(own->second, address) == 0) continue;
    Holder holder{.link = link};
    for (const Ipv4Interface& one : (*ipv4)[link.index]) {
      if (format_ipv4(one.address) == address) holder.ipv4 = one;
    }
    return holder;
  }
  return fail(Errc::kIo, "no interface has the address " + address);
}

}  // namespace paravane::ethernet
