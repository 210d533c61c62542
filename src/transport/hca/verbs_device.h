// VerbsDevice is an RDMA adapter of this host, opened through libibverbs for trunks.
//
// The caller must have read the list of devices (load_providers()) before the sandbox, because that
// loads code. open() is called by the user that uses the device: the kernel compares the two
// (ib_safe_file_access() in Linux).
//
// The calls block, for as long as the adapter's driver takes.

#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

namespace paravane::transport_hca {

class VerbsDevice {
 public:
  // Loads what libibverbs needs for the devices that there are now.
  static void load_providers();

  // `name`: as in `rdma link show`, for example mlx5_0. `port`: from 1.
  // Errors: kNotFound; kUnsupported: iWARP, whose queue pairs only rdma_cm connects; kBadState: the
  // port is not active, or has no GID for RoCE v2; kIo.
  static Result<std::shared_ptr<VerbsDevice>> open(const std::string& name, std::uint8_t port);
  ~VerbsDevice();
  VerbsDevice(const VerbsDevice&) = delete;
  VerbsDevice& operator=(const VerbsDevice&) = delete;

  const std::string& name() const { return name_; }
  std::uint8_t port() const { return port_; }
  ibv_context* context() const { return context_.get(); }
  ibv_pd* domain() const { return domain_.get(); }
  const ibv_port_attr& attributes() const { return attributes_; }
  // Of the port; the first for RoCE v2 that is an IPv4 address, else the first for RoCE v2.
  const ibv_gid_entry& gid() const { return gid_; }

 private:
  template <auto Close>
  struct Closer {
    void operator()(auto* object) const { Close(object); }
  };

  VerbsDevice(std::string name, std::uint8_t port) : name_(std::move(name)), port_(port) {}
  Status find_gid();

  std::string name_;
  std::uint8_t port_;
  std::unique_ptr<ibv_context, Closer<ibv_close_device>> context_;
  std::unique_ptr<ibv_pd, Closer<ibv_dealloc_pd>> domain_;
  ibv_port_attr attributes_{};
  ibv_gid_entry gid_{};
};

}  // namespace paravane::transport_hca
