// RegisteredMemory knows which guest memory an RDMA adapter can reach, and by which key.
//
// The files of a VM's memory are registered as a whole when the first long message wants that, on
// another thread, because it pins them and takes the kernel a while. What was registered is good
// until any of it is unmapped (GuestMemory::mapping_age()): then pages may lie elsewhere. The
// registration ends at once, so that the memory of a VM that is gone is not locked any more, and
// the files are registered anew when they are wanted again.
//
// Memory is looked for among that of its own VM alone: host addresses are used again.
//
// Owner thread only. It may be destroyed on any thread when no other has it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "guestmem/extent.h"
#include "guestmem/guest_memory.h"
#include "transport/channel/lane_port.h"
#include "transport/hca/trunk_port.h"
#include "verbs/adapter.h"

namespace paravane::transport_hca {

// Memory that was registered with an RDMA adapter, until the object ends, which may take a while.
class MemoryRegistration {
 public:
  virtual ~MemoryRegistration() = default;
  // Of the adapter on this host; it never leaves it.
  virtual std::uint32_t key() const = 0;
};

class RegisteredMemory : public std::enable_shared_from_this<RegisteredMemory> {
 public:
  struct Region {
    std::span<std::byte> bytes;
    std::unique_ptr<MemoryRegistration> registration;
  };
  // Memory that is to be registered.
  struct Wanted {
    std::uint64_t number = 0;                      // of this wish
    std::vector<GuestMemory::MappedFile> files{};  // which must end on the owner's thread
  };
  // What came of it; the regions are none if the adapter refused one.
  struct Made {
    Wanted wanted;
    std::vector<Region> regions;
  };
  // What is done elsewhere.
  struct Acts {
    std::function<void(Wanted)> make;  // take() follows
    std::function<void(std::vector<Region>)> end;
  };

  explicit RegisteredMemory(Acts acts) : acts_(std::move(acts)) {}

  // Whether all of it can be reached now. If it is not registered, it will be.
  bool reaches(verbs::Adapter& adapter, const ExtentList& extents);
  // REQUIRES: reaches() has said so in this turn.
  void find(verbs::AdapterId adapter, const ExtentList& extents, std::vector<LanePlace>& places);
  void take(Made made);
  // The VM is gone.
  void forget(verbs::AdapterId adapter);

  transport_channel::MemoryState state_of(verbs::AdapterId adapter) const;

 private:
  // Of one VM's memory.
  struct Vm final : GuestMemory::MappingWatcher {
    Vm(std::weak_ptr<RegisteredMemory> of, const GuestMemory& its_memory)
        : all(std::move(of)), memory(&its_memory) {}
    void on_mapping_age_ended() override {
      if (const auto alive = all.lock()) alive->drop(*this);
    }

    std::weak_ptr<RegisteredMemory> all;
    const GuestMemory* memory;  // to be compared; it may be gone
    std::uint64_t wanted = 0;   // the number of the wish that is not made yet; 0: none
    bool is_good = false;       // what was wanted last is registered, or was refused
    std::uint32_t files = 0;    // that the VM had then
    std::vector<Region> regions{};
  };

  Vm& vm_of(verbs::Adapter& adapter);
  void want(verbs::Adapter& adapter, Vm& vm);
  void drop(Vm& vm);
  static const Region* region_of(const Vm& vm, std::span<const std::byte> bytes);
  bool covers(const Vm& vm, const ExtentList& extents);

  Acts acts_;
  std::map<verbs::AdapterId, std::shared_ptr<Vm>> vms_;
  std::uint64_t wishes_ = 0;
  std::vector<std::span<std::byte>> scratch_;
};

}  // namespace paravane::transport_hca
