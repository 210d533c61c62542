// Bystander: the VM of driver_fuzz that does everything right. It has traffic of its
// own between two queue pairs, and one open to a hostile peer. Beside what it has
// registered lies memory that nobody may touch: its own guest looks after that.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <cstdlib>

#include "testing/device_rig.h"
#include "testing/fake_guest_end.h"

namespace paravane::fake {

class Bystander {
 public:
  // REQUIRES: the VM has booted.
  Bystander(DeviceRig& rig, unsigned vm)
      : rig_(rig),
        guest_(rig.guest(vm)),
        a_(guest_),
        b_(guest_),
        open_(guest_, open_options()),
        private_(guest_.register_memory(open_.pd(), kBytes, {.access = kLocalWrite})),
        elsewhere_(guest_.register_memory(a_.pd(), kBytes)),
        neighbour_(guest_.ram().allocate(1)) {
    require(connect(a_, b_));
    for (std::uint64_t i = 0; i < 3 * kPage; ++i) page_of_open(i) = FakeMr::pattern(1, i);
    private_.fill_pattern(2);
    elsewhere_.fill_pattern(4);
    for (std::uint64_t i = 0; i < kPage; ++i) at(neighbour_)[i] = FakeMr::pattern(3, i);
  }

  // What it offers to `gid` and `number`, after whatever came of it before.
  bool offer(const GidBytes& gid, std::uint32_t number) {
    pvrdma_cqe completion{};
    while (open_.cq().take(completion)) require(completion.qp == open_.qp().handle);
    require(guest_.to_reset(open_.qp()));
    const bool connected = guest_.connect(open_.qp(), gid, number);
    for (std::uint64_t i = 0; i < 4; ++i) require(open_.receive(i, 0, 1000));
    return connected;
  }
  FakeMr& offered() { return open_.buffer(); }
  // Without a right for peers; with all, but not for this connection.
  FakeMr& kept() { return private_; }
  FakeMr& elsewhere() { return elsewhere_; }
  std::uint32_t open_number() { return open_.qp().number; }

  // A message of its own arrives, whole and once, whatever the others do.
  void talk() {
    const std::uint32_t seed = ++talks_;
    for (std::uint64_t i = 0; i < kBytes; ++i) *a_.buffer().at(i) = FakeMr::pattern(seed, i);
    require(b_.receive(seed, 8192, kBytes));
    require(a_.send(seed, 0, kBytes));
    pvrdma_cqe received{};
    pvrdma_cqe sent{};
    await(b_.cq(), received);
    await(a_.cq(), sent);
    require(received.status == PVRDMA_WC_SUCCESS && sent.status == PVRDMA_WC_SUCCESS);
    require(received.wr_id == seed && received.byte_len == kBytes && sent.wr_id == seed);
    require(!a_.cq().take(sent) && !b_.cq().take(received));
    guest_.handle_interrupts();
    for (std::uint64_t i = 0; i < kBytes; ++i) {
      require(*b_.buffer().at(8192 + i) == FakeMr::pattern(seed, i));
    }
  }

  // Nothing was written but what is registered and open to peers.
  void look_around() {
    for (std::uint64_t i = 0; i < 3 * kPage; ++i) {
      const bool registered = i >= kOffset && i < kOffset + kOpenBytes;
      require(registered || page_of_open(i) == FakeMr::pattern(1, i));
    }
    for (std::uint64_t i = 0; i < kBytes; ++i) require(*private_.at(i) == FakeMr::pattern(2, i));
    for (std::uint64_t i = 0; i < kBytes; ++i) require(*elsewhere_.at(i) == FakeMr::pattern(4, i));
    for (std::uint64_t i = 0; i < kPage; ++i) require(at(neighbour_)[i] == FakeMr::pattern(3, i));
  }

 private:
  static constexpr std::uint32_t kBytes = 3000;
  static constexpr std::uint32_t kOffset = 500;
  static constexpr std::uint32_t kOpenBytes = 8200;
  static constexpr int kPatience = 100;  // turns

  // A few turns suffice, however busy the others are.
  void await(FakeCq& cq, pvrdma_cqe& completion) {
    for (int turns = 0; !cq.take(completion); ++turns) {
      require(turns < kPatience);
      rig_.turn(std::chrono::microseconds(20));
    }
  }

  static void require(bool promise) {
    if (!promise) std::abort();
  }
  static EndOptions open_options() {
    EndOptions options;
    options.buffer_bytes = kOpenBytes;
    options.memory.page_offset = kOffset;
    return options;
  }
  std::byte* at(std::uint64_t address) { return guest_.ram().at(address); }
  // The pages under the open buffer, from the first one's beginning.
  std::byte& page_of_open(std::uint64_t i) {
    return at(open_.buffer().pages().pages[i / kPage])[i % kPage];
  }

  DeviceRig& rig_;
  FakeGuest& guest_;
  FakeEnd a_;
  FakeEnd b_;
  FakeEnd open_;
  FakeMr& private_;
  FakeMr& elsewhere_;
  std::uint64_t neighbour_;
  std::uint32_t talks_ = 0;
};

}  // namespace paravane::fake
