// TestRig: a DeviceRig whose guests report what they could not survive as test
// failures, and which checks at its end that no freed guest page was written to.

#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "testing/device_rig.h"
#include "testing/fake_guest_end.h"

namespace paravane::fake {

inline RigOptions with_failures(RigOptions options) {
  if (!options.guest.on_surprise) {
    options.guest.on_surprise = [](const char* what) { ADD_FAILURE() << "guest: " << what; };
  }
  return options;
}

class TestRig : public DeviceRig {
 public:
  explicit TestRig(const RigOptions& options = {}) : DeviceRig(with_failures(options)) {}
  ~TestRig() {
    run_until_idle();
    for (unsigned vm = 0; vm < size(); ++vm) {
      EXPECT_TRUE(machine(vm).ram().intact_after_free()) << "vm " << vm << ": DMA after free";
    }
  }
};

// The next completion, after as many turns as it takes, within a millisecond or
// two of the rig's time.
inline std::optional<pvrdma_cqe> next_completion(DeviceRig& rig, FakeCq& cq) {
  pvrdma_cqe completion{};
  if (cq.take(completion)) return completion;
  rig.run_until_idle();
  if (cq.take(completion)) return completion;
  rig.settle();
  if (cq.take(completion)) return completion;
  return std::nullopt;
}

// The status of the next completion; nothing came: PVRDMA_WC_GENERAL_ERR + 1.
inline constexpr std::uint32_t kNoCompletion = PVRDMA_WC_GENERAL_ERR + 1;
inline std::uint32_t next_status(DeviceRig& rig, FakeCq& cq) {
  const auto completion = next_completion(rig, cq);
  return completion ? completion->status : kNoCompletion;
}

inline bool same_objects(const device::DeviceObjects& a, const device::DeviceObjects& b) {
  return a.contexts == b.contexts && a.protection_domains == b.protection_domains &&
         a.memory_regions == b.memory_regions && a.completion_queues == b.completion_queues &&
         a.shared_receive_queues == b.shared_receive_queues && a.queue_pairs == b.queue_pairs &&
         a.gids == b.gids;
}
inline bool no_objects(const device::DeviceObjects& objects) {
  return same_objects(objects, device::DeviceObjects{});
}

}  // namespace paravane::fake
