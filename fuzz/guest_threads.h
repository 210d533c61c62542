// GuestThreads: the other processors of hostile guests. Each thread keeps writing to
// what its VM shares with the device, while the worker makes its turns: doorbells and
// ring indices, any word of a queue or a buffer, requests in the regular way, and the
// command slot. They stop when this is destroyed.
//
// A thread writes nothing but guest memory, and takes nothing from it but numbers
// that the fakes bound themselves. What it needs of the driver it copies when it
// starts: the owner's thread goes on making and destroying.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "hostile_driver.h"

namespace paravane::fake {

// Small and repeatable; a thread's own.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint32_t word() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33);
  }
  std::uint32_t below(std::uint32_t limit) { return word() % limit; }

 private:
  std::uint64_t state_;
};

class GuestThreads {
 public:
  // `threads` of them, dealt out to the drivers in turn.
  GuestThreads(std::array<HostileDriver*, 2> drivers, std::uint32_t threads, std::uint64_t seed);
  ~GuestThreads();
  GuestThreads(const GuestThreads&) = delete;
  GuestThreads& operator=(const GuestThreads&) = delete;

 private:
  struct Queue {
    FakeQp* qp;
    std::uint32_t handle;
  };
  struct Reach {
    std::vector<std::byte*> pages;
    std::vector<std::byte*> command_pages;
    std::vector<std::byte*> doorbells;
    std::vector<Queue> queues;
    std::vector<pvrdma_sge> sges;
    std::vector<std::uint64_t> remote;
    std::vector<std::uint32_t> rkeys;
  };
  static Reach reach_of(HostileDriver& driver, HostileDriver& peer);
  void run(const Reach& reach, std::uint32_t role, Dice dice);
  static void ring_and_index(const Reach& reach, Dice& dice);
  static void write_words(const Reach& reach, Dice& dice);
  static void post(const Reach& reach, Dice& dice);
  static void change_command(const Reach& reach, Dice& dice);

  std::atomic<bool> stop_ = false;
  std::atomic<std::uint32_t> started_ = 0;
  std::vector<std::unique_ptr<Reach>> reaches_;
  std::vector<std::thread> threads_;
};

}  // namespace paravane::fake
