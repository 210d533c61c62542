// VerbsDevice is an RDMA adapter of this host, opened through libibverbs for trunks.
//
// load_providers() must be called before the sandbox is entered, because it loads code. open() must
// be called as the user that uses the device, because the kernel compares the two
// (ib_safe_file_access() in Linux).
//
// One thread at a time; ports that it has made may live on another thread.

#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "transport/hca/trunk_device.h"

namespace paravane::transport_hca {

class VerbsDevice final : public TrunkDevice, public std::enable_shared_from_this<VerbsDevice> {
 public:
  // Loads the code that libibverbs needs for the present devices. False: the host has no device.
  static bool load_providers();

  // Errors: as OpenTrunkDevice.
  static Result<std::shared_ptr<TrunkDevice>> open(const TrunkAdapter& adapter);
  ~VerbsDevice() override;
  VerbsDevice(const VerbsDevice&) = delete;
  VerbsDevice& operator=(const VerbsDevice&) = delete;

  // ---- TrunkDevice ----
  Result<std::unique_ptr<FreshTrunkPort>> make_port() override;
  Result<std::unique_ptr<MemoryRegistration>> register_memory(std::span<std::byte> bytes) override;
  bool is_there() const override;
  int fd() const override { return context_->async_fd; }
  std::string take_trouble() override;

  const std::string& name() const { return adapter_.device; }
  std::uint8_t port() const { return adapter_.port; }
  std::uint8_t traffic_class() const { return adapter_.traffic_class; }
  ibv_context* context() const { return context_.get(); }
  ibv_pd* domain() const { return domain_.get(); }
  const ibv_port_attr& attributes() const { return attributes_; }
  // The GID of the port. For RoCE v2 it is the GID of the adapter's address if the port has it,
  // else the first GID of an IPv4 address, else the first GID.
  const ibv_gid_entry& gid() const { return gid_; }

 private:
  template <auto Close>
  struct Closer {
    void operator()(auto* object) const { Close(object); }
  };

  explicit VerbsDevice(TrunkAdapter adapter) : adapter_(std::move(adapter)) {}
  Status open_context(ibv_device& device);
  Status find_gid();
  int rank(const ibv_gid_entry& entry) const;
  std::string trouble_of(const ibv_async_event& event) const;

  const TrunkAdapter adapter_;
  std::unique_ptr<ibv_context, Closer<ibv_close_device>> context_;
  std::unique_ptr<ibv_pd, Closer<ibv_dealloc_pd>> domain_;
  ibv_port_attr attributes_{};
  ibv_gid_entry gid_{};
};

}  // namespace paravane::transport_hca
