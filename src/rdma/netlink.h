// Netlink reads values that the kernel's RDMA subsystem reports only over netlink. These are the
// NIC that belongs to a port, which is reported even while the NIC is down, and the number of queue
// pairs and other objects.
//
// One thread. Calls block until the kernel responds.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

struct nl_sock;

namespace paravane::rdma {

class Netlink {
 public:
  // Null: this kernel does not support it, or does not allow its use.
  static std::unique_ptr<Netlink> open();
  ~Netlink();
  Netlink(const Netlink&) = delete;
  Netlink& operator=(const Netlink&) = delete;

  // The NIC of a port, if it is in this thread's network namespace; otherwise empty.
  std::string net_device(const std::string& device, std::uint32_t port);
  // The number of objects of the whole device, by the kernel's short names ("qp", "cq").
  std::map<std::string, std::uint64_t> resources(const std::string& device);

 private:
  explicit Netlink(nl_sock* socket) : socket_(socket) {}
  class Request;

  // The kernel's number of a device, which may be 0. -1: there is no such device.
  std::int64_t index_of(const std::string& device);

  nl_sock* socket_;
};

}  // namespace paravane::rdma
