#include "ethernet/link_news.h"

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace paravane::ethernet {
namespace {

constexpr std::size_t kPacket = std::size_t{32} * 1024;  // the kernel's own are below 16 KiB
constexpr int kPacketsAtOnce = 256;                      // the others at the next call
constexpr int kRoom = 512 * 1024;  // bytes, for notifications that were not read yet

constexpr unsigned group(unsigned number) {
  return 1U << (number - 1);
}

bool is_of_traffic_control(const nlmsghdr* header) {
  switch (header->nlmsg_type) {
    case RTM_NEWQDISC:
    case RTM_DELQDISC:
    case RTM_NEWTFILTER:
    case RTM_DELTFILTER:
    case RTM_NEWCHAIN:
    case RTM_DELCHAIN: return true;
    default: return false;
  }
}

bool matters(nlmsghdr* header, const LinkFilter& filter) {
  if (header->nlmsg_type == RTM_NEWADDR || header->nlmsg_type == RTM_DELADDR) {
    if (nlmsg_datalen(header) < static_cast<int>(sizeof(ifaddrmsg))) return true;
    const auto* address = static_cast<const ifaddrmsg*>(nlmsg_data(header));
    return filter.addresses || filter.links.contains(static_cast<int>(address->ifa_index));
  }
  if (is_of_traffic_control(header)) {
    if (nlmsg_datalen(header) < static_cast<int>(sizeof(tcmsg))) return true;
    return filter.links.contains(static_cast<const tcmsg*>(nlmsg_data(header))->tcm_ifindex);
  }
  if (header->nlmsg_type != RTM_NEWLINK && header->nlmsg_type != RTM_DELLINK) return false;
  std::array<nlattr*, IFLA_MAX + 1> parts{};
  if (nlmsg_parse(header, sizeof(ifinfomsg), parts.data(), IFLA_MAX, nullptr) < 0) return true;
  const auto* link = static_cast<const ifinfomsg*>(nlmsg_data(header));
  if (filter.strangers || filter.links.contains(link->ifi_index)) return true;
  const nlattr* master = parts[IFLA_MASTER];
  if (master != nullptr && nla_len(master) >= 4 &&
      filter.links.contains(static_cast<int>(nla_get_u32(master)))) {
    return true;
  }
  const nlattr* name = parts[IFLA_IFNAME];
  if (name == nullptr) return false;
  const auto* text = static_cast<const char*>(nla_data(name));
  return filter.names.contains(
      std::string_view(text, ::strnlen(text, static_cast<std::size_t>(nla_len(name)))));
}

// Of one packet. One that is cut off matters, for what it said is not known.
bool any_matters(std::span<std::byte> packet, const LinkFilter& filter) {
  auto* header = reinterpret_cast<nlmsghdr*>(packet.data());
  int left = static_cast<int>(packet.size());
  for (; nlmsg_ok(header, left) != 0; header = nlmsg_next(header, &left)) {
    if (matters(header, filter)) return true;
  }
  return left > 0;
}

}  // namespace

Result<LinkNews> LinkNews::open() {
  UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = group(RTNLGRP_LINK) | group(RTNLGRP_IPV4_IFADDR) |
                      group(RTNLGRP_IPV6_IFADDR) | group(RTNLGRP_TC);
  if (!socket ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail_by_system(Errc::kIo, "cannot follow the interfaces of this host: netlink", errno);
  }
  // If it stays smaller, more is lost, and then all is looked at.
  static_cast<void>(::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &kRoom, sizeof kRoom));
  return LinkNews(std::move(socket));
}

bool LinkNews::take(const LinkFilter& filter) {
  alignas(nlmsghdr) std::array<std::byte, kPacket> packet;
  bool some = false;
  for (int i = 0; i < kPacketsAtOnce; ++i) {
    sockaddr_nl from{};
    socklen_t size = sizeof from;
    const ssize_t got = ::recvfrom(socket_.get(), packet.data(), packet.size(), MSG_TRUNC,
                                   reinterpret_cast<sockaddr*>(&from), &size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno != ENOBUFS) return some;  // there is no more
    if (got < 0) {
      some = true;
      continue;
    }
    if (from.nl_pid != 0) continue;  // not the kernel's
    const auto length = static_cast<std::size_t>(got);
    some = some || length > packet.size() ||
           any_matters(std::span(packet).first(std::min(length, packet.size())), filter);
  }
  return some;
}

}  // namespace paravane::ethernet
