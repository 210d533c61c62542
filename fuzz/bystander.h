// Bystander: the VM of driver_fuzz that does everything right. It has traffic of its
// own between two queue pairs, and one open to a hostile peer. Beside what it has
// registered lies memory that nobody may touch: its own guest looks after that.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "promise.h"
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
    std::memcpy(open_pages(), noise(0), 3 * kPage);
    std::memcpy(private_.at(0), noise(1), kBytes);
    std::memcpy(elsewhere_.at(0), noise(2), kBytes);
    std::memcpy(at(neighbour_), noise(3), kPage);
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
    std::memcpy(a_.buffer().at(0), noise(seed), kBytes);
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
    require(same(b_.buffer().at(8192), noise(seed), kBytes));
  }

  // Nothing was written but what is registered and open to peers.
  void look_around() {
    require(same(open_pages(), noise(0), kOffset));
    const std::uint32_t end = kOffset + kOpenBytes;
    require(same(open_pages() + end, noise(0) + end, 3 * kPage - end));
    require(same(private_.at(0), noise(1), kBytes));
    require(same(elsewhere_.at(0), noise(2), kBytes));
    require(same(at(neighbour_), noise(3), kPage));
  }

 private:
  static constexpr std::uint32_t kBytes = 3000;
  static constexpr std::uint32_t kOffset = 500;
  static constexpr std::uint32_t kOpenBytes = 8200;
  static constexpr int kPatience = 100;  // turns
  static constexpr std::uint32_t kNoises = 4096;

  // A few turns suffice, however busy the others are.
  void await(FakeCq& cq, pvrdma_cqe& completion) {
    for (int turns = 0; !cq.take(completion); ++turns) {
      require(turns < kPatience);
      rig_.turn(std::chrono::microseconds(20));
    }
  }

  static EndOptions open_options() {
    EndOptions options;
    options.buffer_bytes = kOpenBytes;
    options.memory.page_offset = kOffset;
    return options;
  }
  std::byte* at(std::uint64_t address) { return guest_.ram().at(address); }
  // The pages under the open buffer, from the first one's beginning.
  std::byte* open_pages() { return at(open_.buffer().pages().pages.front()); }

  // Up to three pages of bytes that differ from their neighbours and from those of
  // another `seed`. Made once: inputs are short.
  static const std::byte* noise(std::uint32_t seed) {
    static const std::vector<std::byte> all = [] {
      std::vector<std::byte> made(kNoises + 3 * kPage);
      for (std::size_t i = 0; i < made.size(); ++i) made[i] = FakeMr::pattern(1, i);
      return made;
    }();
    return all.data() + seed % kNoises;
  }
  static bool same(const std::byte* a, const std::byte* b, std::size_t bytes) {
    return std::memcmp(a, b, bytes) == 0;
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
