#include "rdma/netlink.h"

#include <netlink/attr.h>
#include <netlink/handlers.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <rdma/rdma_netlink.h>

#include <array>
#include <cstring>
#include <functional>

namespace paravane::rdma {
namespace {

using Attributes = std::array<nlattr*, RDMA_NLDEV_ATTR_MAX>;
using OnMessage = std::function<void(const Attributes&)>;

std::string text_of(const nlattr* attribute) {
  if (attribute == nullptr) return {};
  const auto* text = static_cast<const char*>(nla_data(attribute));
  return {text, ::strnlen(text, static_cast<std::size_t>(nla_len(attribute)))};
}

// One answer, or one of a list.
int take(nl_msg* message, void* on_message) {
  Attributes attributes{};
  if (nlmsg_parse(nlmsg_hdr(message), 0, attributes.data(), static_cast<int>(attributes.size()) - 1,
                  nullptr) >= 0) {
    (*static_cast<OnMessage*>(on_message))(attributes);
  }
  return NL_OK;
}

}  // namespace

// A question about one device, or about all.
class Netlink::Request {
 public:
  Request(int command, int flags)
      : message_(
            nlmsg_alloc_simple(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), NLM_F_REQUEST | flags)) {}
  Request& u32(int attribute, std::uint32_t value) {
    good_ = good_ && message_ && nla_put_u32(message_.get(), attribute, value) == 0;
    return *this;
  }
  // An error is an answer with nothing in it.
  void send(nl_sock* socket, OnMessage on_message) {
    if (!good_ || !message_ || nl_send_auto(socket, message_.get()) < 0) return;
    const std::unique_ptr<nl_cb, FreeCallbacks> callbacks(nl_cb_alloc(NL_CB_DEFAULT));
    if (!callbacks) return;
    nl_cb_set(callbacks.get(), NL_CB_VALID, NL_CB_CUSTOM, take, &on_message);
    static_cast<void>(nl_recvmsgs(socket, callbacks.get()));
  }

 private:
  struct FreeMessage {
    void operator()(nl_msg* message) const { nlmsg_free(message); }
  };
  struct FreeCallbacks {
    void operator()(nl_cb* callbacks) const { nl_cb_put(callbacks); }
  };

  std::unique_ptr<nl_msg, FreeMessage> message_;
  bool good_ = true;
};

std::unique_ptr<Netlink> Netlink::open() {
  nl_sock* socket = nl_socket_alloc();
  if (socket == nullptr) return nullptr;
  std::unique_ptr<Netlink> netlink(new Netlink(socket));
  nl_socket_disable_auto_ack(socket);
  if (nl_connect(socket, NETLINK_RDMA) != 0) return nullptr;
  return netlink;
}

Netlink::~Netlink() {
  nl_socket_free(socket_);
}

std::int64_t Netlink::index_of(const std::string& device) {
  std::int64_t index = -1;
  Request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP).send(socket_, [&](const Attributes& device_of) {
    const nlattr* number = device_of[RDMA_NLDEV_ATTR_DEV_INDEX];
    if (number == nullptr || text_of(device_of[RDMA_NLDEV_ATTR_DEV_NAME]) != device) return;
    index = nla_get_u32(number);
  });
  return index;
}

std::string Netlink::net_device(const std::string& device, std::uint32_t port) {
  const std::int64_t index = index_of(device);
  std::string name;
  if (index < 0) return name;
  Request(RDMA_NLDEV_CMD_PORT_GET, 0)
      .u32(RDMA_NLDEV_ATTR_DEV_INDEX, static_cast<std::uint32_t>(index))
      .u32(RDMA_NLDEV_ATTR_PORT_INDEX, port)
      .send(socket_,
            [&](const Attributes& port_of) { name = text_of(port_of[RDMA_NLDEV_ATTR_NDEV_NAME]); });
  return name;
}

std::map<std::string, std::uint64_t> Netlink::resources(const std::string& device) {
  const std::int64_t index = index_of(device);
  std::map<std::string, std::uint64_t> resources;
  if (index < 0) return resources;
  const auto read_summary = [&](const Attributes& device_of) {
    const nlattr* summary = device_of[RDMA_NLDEV_ATTR_RES_SUMMARY];
    if (summary == nullptr) return;
    int left = 0;
    nlattr* entry = nullptr;
    nla_for_each_nested(entry, summary, left) {
      Attributes parts{};
      if (nla_parse_nested(parts.data(), static_cast<int>(parts.size()) - 1, entry, nullptr) < 0) {
        continue;
      }
      const nlattr* count = parts[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR];
      const std::string name = text_of(parts[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME]);
      if (count != nullptr && !name.empty()) resources[name] = nla_get_u64(count);
    }
  };
  Request(RDMA_NLDEV_CMD_RES_GET, 0)
      .u32(RDMA_NLDEV_ATTR_DEV_INDEX, static_cast<std::uint32_t>(index))
      .send(socket_, read_summary);
  return resources;
}

}  // namespace paravane::rdma
