// RtnlSocket: sends one request at a time to the kernel's rtnetlink and reads the response.
// Message builds a request. Private to this folder, since it exposes libnl.
//
// Blocks for as long as the kernel takes. One thread.

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

// A request about one interface in the making. An attribute that does not fit shows when
// it is sent.
class Message {
 public:
  // `up`: the flags of the interface that are to be set.
  Message(int type, int flags, std::uint8_t family, int index, unsigned up = 0);
  // About an IPv4 address of an interface.
  static Message of_address(int type, int flags, int index, std::uint8_t prefix);

  // The header of another interface, inside nest(): all fields are 0.
  Message& link();
  Message& text(int attribute, const std::string& value);
  Message& u32(int attribute, std::uint32_t value);
  Message& u16(int attribute, std::uint16_t value);
  Message& u8(int attribute, std::uint8_t value);
  Message& bytes(int attribute, const void* data, int size);
  // What `inside` adds is nested.
  Message& nest(int attribute, const std::function<void(Message&)>& inside);

  nl_msg* get() const { return good_ ? message_.get() : nullptr; }

 private:
  // What follows the header of a request; nothing yet.
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

  // Before all else. Errors: kIo.
  Status connect();

  // A change. Errors: kUnsupported, kIo, with what the kernel says.
  Status send(const Message& message);

  // A question, for what makes the message. The answer's messages, until the next call.
  // Errors: as send().
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
