// RtnlSocket: sends one request at a time to the kernel's rtnetlink interface and reads the
// response. The class Message builds a request.
//
// Only the code in ethernet/ uses this header, so that no other code depends on the library libnl.
// Blocks until the kernel responds. One thread.

#pragma once

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace paravane::ethernet {

struct FreeMessage {
  void operator()(nl_msg* message) const { nlmsg_free(message); }
};

// Message: builds a request about one interface. If an attribute does not fit, sending the message
// fails.
class Message {
 public:
  // `up`: the flags of the interface to set.
  Message(int type, int flags, std::uint8_t family, int index, unsigned up = 0);
  // A change that switches the interface off.
  static Message to_switch_off(int index);
  // A message about an IPv4 address of an interface.
  static Message of_address(int type, int flags, int index, std::uint8_t prefix);
  // A question about Data Center Bridging: DCB_CMD_* of <linux/dcbnl.h>.
  static Message of_dcb(std::uint8_t command);
  // A message about traffic control: a queueing discipline or a filter of an interface.
  static Message of_traffic(int type, int flags, const tcmsg& header);

  // Adds the header of another interface inside nest(). All its fields are 0.
  Message& link();
  Message& text(int attribute, const std::string& value);
  Message& u32(int attribute, std::uint32_t value);
  Message& u16(int attribute, std::uint16_t value);
  Message& u8(int attribute, std::uint8_t value);
  Message& bytes(int attribute, const void* data, int size);
  // Adds a nested attribute, whose content is what `inside` adds.
  Message& nest(int attribute, const std::function<void(Message&)>& inside);

  nl_msg* get() const { return good_ ? message_.get() : nullptr; }

 private:
  // `header`: the structure that follows the netlink header of this type of request.
  Message(int type, int flags, const void* header, std::size_t size);

  std::unique_ptr<nl_msg, FreeMessage> message_;
  bool good_ = false;
};

class RtnlSocket {
 public:
  RtnlSocket() : socket_(nl_socket_alloc()) {}
  ~RtnlSocket() { nl_socket_free(socket_); }
  RtnlSocket(const RtnlSocket&) = delete;
  RtnlSocket& operator=(const RtnlSocket&) = delete;

  // Must be called first. Errors: kIo.
  Status connect();

  // Sends a change. Errors: kUnsupported, kIo, with the kernel's message.
  Status send(const Message& message);

  // Sends a query that `question` creates. Returns the messages of the response, which are valid
  // until the next call. Errors: as send().
  Result<std::vector<nlmsghdr*>> ask(const std::function<Message()>& question);

 private:
  Status post(const Message& message);
  Status judge(int code) const;
  static int note_error(sockaddr_nl* from, nlmsgerr* error, void* self);
  static int note_message(nl_msg* message, void* self);

  nl_sock* socket_;
  int errno_ = 0;  // of the last answer
  std::vector<std::unique_ptr<nl_msg, FreeMessage>> answers_;
};

}  // namespace paravane::ethernet
