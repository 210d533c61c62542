#include "testing/fake_trunk_device.h"

#include "testing/fake_trunk_end.h"

namespace paravane::fake {

using transport_hca::FreshTrunkPort;
using transport_hca::TrunkAddress;

FakeTrunkDevice::FakeTrunkDevice(std::shared_ptr<FakeTrunkNet> net)
    : net_(std::move(net)), event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

Result<std::unique_ptr<FreshTrunkPort>> FakeTrunkDevice::make_port() {
  if (!no_port_.empty()) return paravane::fail(Errc::kResourceExhausted, no_port_);
  ++made_;
  auto end = std::make_shared<FakeTrunkEnd>();
  const std::uint32_t number = ++net_->last_number;
  net_->ends[number] = end;
  own_.push_back(end);
  return std::make_unique<FakeTrunkPort>(
      end, TrunkAddress{.qpn = number, .is_infiniband = is_infiniband_, .path_mtu_bytes = 1024},
      [this, weak = std::weak_ptr(end)](const TrunkAddress& peer) {
        return connect(weak.lock(), peer.qpn);
      });
}

Result<std::unique_ptr<transport_hca::MemoryRegistration>> FakeTrunkDevice::register_memory(
    std::span<std::byte> /*bytes*/) {
  if (!no_memory_.empty()) return paravane::fail(Errc::kResourceExhausted, no_memory_);
  return std::make_unique<FakeRegistration>();
}

Status FakeTrunkDevice::connect(const std::shared_ptr<FakeTrunkEnd>& end, std::uint32_t peer) {
  if (!no_connection_.empty()) return paravane::fail(Errc::kIo, no_connection_);
  end->peer = net_->ends[peer];
  return {};
}

void FakeTrunkDevice::fail(std::string trouble) {
  trouble_ = std::move(trouble);
  const std::uint64_t one = 1;
  static_cast<void>(::write(event_.get(), &one, sizeof one));
  for (const auto& weak : own_) {
    const auto end = weak.lock();
    if (!end) continue;
    end->failed = true;
    end->complete({.kind = TrunkCompletion::Kind::kFailed});
  }
}

std::string FakeTrunkDevice::take_trouble() {
  std::uint64_t count = 0;
  static_cast<void>(::read(event_.get(), &count, sizeof count));
  return std::exchange(trouble_, {});
}

}  // namespace paravane::fake
