// TrunkDevice is an RDMA adapter of this host that makes queue pairs for trunks.
//
// One thread at a time. The calls block, for as long as the adapter's driver takes.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "transport/hca/registered_memory.h"
#include "transport/hca/trunk_address.h"
#include "transport/hca/trunk_port.h"

namespace paravane::transport_hca {

// The port of an RDMA adapter that is to be used.
struct TrunkAdapter {
  std::string device{};   // as in `rdma link show`, for example mlx5_0
  std::uint8_t port = 1;  // from 1
  std::string address{};  // the IP address whose GID is preferred

  std::uint8_t traffic_class = 0;  // of its packets: the DSCP, and two bits that are 0

  friend bool operator==(const TrunkAdapter&, const TrunkAdapter&) = default;
};

// A TrunkPort that is not connected yet.
class FreshTrunkPort : public TrunkPort {
 public:
  // The address of this end, for the peer.
  virtual TrunkAddress address() const = 0;
  // Both ends must be connected before either sends. Errors: kIo.
  virtual Status connect(const TrunkAddress& peer) = 0;
};

class TrunkDevice {
 public:
  virtual ~TrunkDevice() = default;
  // Errors: kResourceExhausted: too little locked memory; kIo.
  virtual Result<std::unique_ptr<FreshTrunkPort>> make_port() = 0;
  // Lets the adapter read and write memory of this process, and nothing else. Errors:
  // kResourceExhausted: too little locked memory; kIo.
  virtual Result<std::unique_ptr<MemoryRegistration>> register_memory(
      std::span<std::byte> bytes) = 0;
  // Whether the host still has the device. A removed device may keep working for programs that have
  // it open, and may report no event (Linux's rdma_rxe).
  virtual bool is_there() const = 0;
  // Readable when the adapter has an event.
  virtual int fd() const = 0;
  // Consumes the events. Returns why the adapter can no longer be used; empty: it can.
  virtual std::string take_trouble() = 0;
};

// Errors: kNotFound; kUnsupported: iWARP, whose queue pairs only rdma_cm connects; kBadState: the
// port is not active, or has no GID for RoCE v2; kIo.
using OpenTrunkDevice =
    std::function<Result<std::shared_ptr<TrunkDevice>>(const TrunkAdapter& adapter)>;

}  // namespace paravane::transport_hca
