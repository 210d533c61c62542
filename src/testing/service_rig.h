// ServiceRig: a host service's adapter beside the adapter of a VM, which plays the service's peer.
//
// Owner thread only.

#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "host_verbs/service_adapter.h"
#include "testing/engine_rig.h"

namespace paravane::fake {

inline constexpr verbs::AdapterId kServiceId{50};

class ServiceRig : public EngineRig {
 public:
  ServiceRig() : EngineRig(1) {
    memory_ = take(host_verbs::ServiceMemory::make({.payloads = 4, .messages = 512}));
    verbs::Gid gid{};
    gid.raw = {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0x50, 0x56, 0, 0x01, 0xA2, 0xB3, 0x01};
    service_ = take(host_verbs::ServiceAdapter::make(
        kServiceId, {}, *memory_, timers(),
        directory().join(kServiceId, "vmhba32", {0, 0x50, 0x56, 0xA2, 0xB3, 1}), {.own = gid}));
    local().attach(service_->adapter());
  }
  ~ServiceRig() override { end_service(); }

  host_verbs::ServiceMemory& memory() { return *memory_; }
  host_verbs::ServiceAdapter& service() { return *service_; }
  // REQUIRES: its queue pairs are gone.
  void end_service() {
    if (!service_) return;
    local().detach(service_->adapter());
    service_.reset();
  }

  template <typename T>
  static T take(Result<T> result) {
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    return std::move(result).value();
  }

 protected:
  void turn_more(Instant now, verbs::Budget budget) override {
    if (service_) service_->adapter().run(now, budget);
  }
  bool more_work() const override { return service_ && service_->adapter().has_work(); }

 private:
  std::unique_ptr<host_verbs::ServiceMemory> memory_;
  std::unique_ptr<host_verbs::ServiceAdapter> service_;
};

}  // namespace paravane::fake
