#include "ethernet/rtnl_socket.h"

#include <fmt/core.h>
#include <linux/dcbnl.h>
#include <linux/if.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/handlers.h>
#include <netlink/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace paravane::ethernet {
namespace {

constexpr std::size_t kMessageSize = 4096;  // ours are a few attributes long
constexpr int kTries = 8;

std::array<ifinfomsg, 1> link_header(std::uint8_t family, int index, unsigned up) {
  ifinfomsg header{};
  header.ifi_family = family;
  header.ifi_index = index;
  header.ifi_flags = up;
  header.ifi_change = up;
  return {header};
}

}  // namespace

Message::Message(int type, int flags, const void* header, std::size_t size)
    : message_(nlmsg_alloc_size(kMessageSize)) {
  if (!message_) return;
  good_ = nlmsg_put(message_.get(), NL_AUTO_PORT, NL_AUTO_SEQ, type, 0, NLM_F_REQUEST | flags) !=
              nullptr &&
          nlmsg_append(message_.get(), const_cast<void*>(header), size, NLMSG_ALIGNTO) == 0;
}

Message::Message(int type, int flags, std::uint8_t family, int index, unsigned up)
    : Message(type, flags, std::data(link_header(family, index, up)), sizeof(ifinfomsg)) {}

Message Message::to_switch_off(int index) {
  ifinfomsg header{};
  header.ifi_index = index;
  header.ifi_change = IFF_UP;
  return {RTM_NEWLINK, 0, &header, sizeof header};
}

Message Message::of_address(int type, int flags, int index, std::uint8_t prefix) {
  ifaddrmsg header{};
  header.ifa_family = AF_INET;
  header.ifa_prefixlen = prefix;
  header.ifa_index = static_cast<unsigned>(index);
  return {type, flags, &header, sizeof header};
}

Message Message::of_traffic(int type, int flags, const tcmsg& header) {
  return {type, flags, &header, sizeof header};
}

Message Message::of_dcb(std::uint8_t command) {
  dcbmsg header{};
  header.dcb_family = AF_UNSPEC;
  header.cmd = command;
  return {RTM_GETDCB, 0, &header, sizeof header};
}

Message& Message::link() {
  ifinfomsg header{};
  good_ = good_ && nlmsg_append(message_.get(), &header, sizeof header, NLMSG_ALIGNTO) == 0;
  return *this;
}

Message& Message::text(int attribute, const std::string& value) {
  good_ = good_ && nla_put_string(message_.get(), attribute, value.c_str()) == 0;
  return *this;
}

Message& Message::u32(int attribute, std::uint32_t value) {
  good_ = good_ && nla_put_u32(message_.get(), attribute, value) == 0;
  return *this;
}

Message& Message::u16(int attribute, std::uint16_t value) {
  good_ = good_ && nla_put_u16(message_.get(), attribute, value) == 0;
  return *this;
}

Message& Message::u8(int attribute, std::uint8_t value) {
  good_ = good_ && nla_put_u8(message_.get(), attribute, value) == 0;
  return *this;
}

Message& Message::bytes(int attribute, const void* data, int size) {
  good_ = good_ && nla_put(message_.get(), attribute, size, data) == 0;
  return *this;
}

Message& Message::nest(int attribute, const std::function<void(Message&)>& inside) {
  nlattr* start = good_ ? nla_nest_start(message_.get(), attribute) : nullptr;
  good_ = start != nullptr;
  inside(*this);
  if (good_) nla_nest_end(message_.get(), start);
  return *this;
}

Status RtnlSocket::connect() {
  if (socket_ == nullptr) return fail(Errc::kIo, "netlink: no memory");
  nl_socket_modify_err_cb(socket_, NL_CB_CUSTOM, note_error, this);
  nl_socket_modify_cb(socket_, NL_CB_VALID, NL_CB_CUSTOM, note_message, this);
  if (nl_connect(socket_, NETLINK_ROUTE) == 0) return {};
  return fail_by_system(Errc::kIo, "netlink", errno);
}

Status RtnlSocket::send(const Message& message) {
  if (Status sent = post(message); !sent) return sent;
  return judge(nl_wait_for_ack(socket_));
}

Result<std::vector<nlmsghdr*>> RtnlSocket::ask(const std::function<Message()>& question) {
  int code = -NLE_DUMP_INTR;
  // A list that changed while it was told is told again.
  for (int i = 0; i < kTries && code == -NLE_DUMP_INTR; ++i) {
    nl_socket_disable_auto_ack(socket_);  // the end of a list is its acknowledgement
    Status sent = post(question());
    nl_socket_enable_auto_ack(socket_);
    if (!sent) return std::unexpected(sent.error());
    code = nl_recvmsgs_default(socket_);
  }
  if (Status done = judge(code); !done) return std::unexpected(done.error());
  std::vector<nlmsghdr*> headers;
  headers.reserve(answers_.size());
  for (const auto& answer : answers_) headers.push_back(nlmsg_hdr(answer.get()));
  return headers;
}

Status RtnlSocket::post(const Message& message) {
  answers_.clear();
  errno_ = 0;
  if (message.get() == nullptr) return fail(Errc::kIo, "netlink: the request is too long");
  const int sent = nl_send_auto(socket_, message.get());
  return sent < 0 ? judge(sent) : Status();
}

Status RtnlSocket::judge(int code) const {
  if (code >= 0) return {};
  const Errc what = errno_ == EOPNOTSUPP ? Errc::kUnsupported : Errc::kIo;
  return errno_ != 0 ? fail_by_system(what, {}, errno_) : fail(what, nl_geterror(code));
}

int RtnlSocket::note_error(sockaddr_nl* /*from*/, nlmsgerr* error, void* self) {
  static_cast<RtnlSocket*>(self)->errno_ = -error->error;
  return NL_STOP;
}

int RtnlSocket::note_message(nl_msg* message, void* self) {
  nlmsg_get(message);
  static_cast<RtnlSocket*>(self)->answers_.emplace_back(message);
  return NL_OK;
}

}  // namespace paravane::ethernet
