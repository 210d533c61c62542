// Values that the RDMA subsystem reports over netlink only: the NIC of a port, even while the NIC
// is down, and the number of queue pairs and other objects.
//
// Blocks for as long as the kernel takes. One thread.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

struct nl_sock;

namespace paravane::rdma {

class Netlink {
 public:
  // Null: this kernel has none, or it may not be used.
  static std::unique_ptr<Netlink> open();
  ~Netlink();
  Netlink(const Netlink&) = delete;
  Netlink& operator=(const Netlink&) = delete;

  // Of a port, in this thread's network namespace; empty: none.
  std::string net_device(const std::string& device, std::uint32_t port);
  // By the kernel's short names ("qp", "cq"), of the whole device.
  std::map<std::string, std::uint64_t> resources(const std::string& device);

 private:
  explicit Netlink(nl_sock* socket) : socket_(socket) {}
  class Request;

  // The kernel's number of a device; 0 is one too. -1: there is no such device.
  std::int64_t index_of(const std::string& device);

  nl_sock* socket_;
};

}  // namespace paravane::rdma
