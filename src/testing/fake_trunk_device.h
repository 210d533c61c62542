// FakeTrunkDevice: an RDMA adapter in memory, on a FakeTrunkNet with others. A test makes it fail.
//
// A message that is sent before the receiving end is connected is lost, and with it the queue pair,
// as on a wire whose retries are at their end.
//
// Owner thread only.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "transport/hca/trunk_device.h"

namespace paravane::fake {

struct FakeTrunkEnd;

// By queue pair numbers.
struct FakeTrunkNet {
  std::map<std::uint32_t, std::weak_ptr<FakeTrunkEnd>> ends;
  std::uint32_t last_number = 0;
};

class FakeTrunkDevice final : public transport_hca::TrunkDevice {
 public:
  explicit FakeTrunkDevice(std::shared_ptr<FakeTrunkNet> net);

  Result<std::unique_ptr<transport_hca::FreshTrunkPort>> make_port() override;
  Result<std::unique_ptr<transport_hca::MemoryRegistration>> register_memory(
      std::span<std::byte> bytes) override;
  bool is_there() const override { return is_there_; }
  int fd() const override { return event_.get(); }
  std::string take_trouble() override;

  // The error of make_port() and connect() from now on; empty: they succeed.
  void refuse_ports(std::string why) { no_port_ = std::move(why); }
  void refuse_connections(std::string why) { no_connection_ = std::move(why); }
  void refuse_memory(std::string why) { no_memory_ = std::move(why); }
  // Removes the device, which keeps working for programs that have it open.
  void remove() { is_there_ = false; }
  // Fails all queue pairs, and reports an event.
  void fail(std::string trouble);
  void set_infiniband(bool is_infiniband) { is_infiniband_ = is_infiniband; }
  unsigned made() const { return made_; }

 private:
  Status connect(const std::shared_ptr<FakeTrunkEnd>& end, std::uint32_t peer);

  std::shared_ptr<FakeTrunkNet> net_;
  UniqueFd event_;
  std::string no_port_;
  std::string no_connection_;
  std::string no_memory_;
  std::string trouble_;
  bool is_infiniband_ = false;
  std::atomic<bool> is_there_ = true;
  unsigned made_ = 0;
  std::vector<std::weak_ptr<FakeTrunkEnd>> own_;
};

}  // namespace paravane::fake
