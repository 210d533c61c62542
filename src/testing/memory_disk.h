// MemoryDisk: a block device in memory, for tests of what serves one. Requests complete in run(),
// or when the test says so; they can be held, fail, and be looked at. Memory for payload is that of
// a VM, in pieces, and there is little of it.
//
// A request or a call that the interface forbids ends the test program with a message.
//
// Owner thread only. The device outlives its clients and their buffers.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "guestmem/guest_memory.h"
#include "nbd/block_device.h"
#include "testing/test_memory.h"

namespace paravane::fake {

class MemoryDisk final : public nbd::BlockDevice {
 public:
  struct Config {
    std::string name = "naa.60014050000000000000000000000001";
    nbd::Geometry geometry{.bytes = std::uint64_t{1} << 20,
                           .most_bytes = std::uint32_t{64} * 1024,
                           .has_write_cache = true,
                           .can_trim = true,
                           .can_write_zeroes = true,
                           .are_zeroes_fast = true};
    std::size_t buffers = 8;           // of most_bytes each
    std::uint32_t piece_bytes = 4096;  // no two of a buffer follow one another in memory
  };
  // One that was submitted, without its payload.
  struct Seen {
    nbd::BlockOperation operation{};
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    bool force_unit_access = false;
    bool may_not_unmap = false;

    friend bool operator==(const Seen&, const Seen&) = default;
  };

  explicit MemoryDisk(Config config);
  ~MemoryDisk() override;

  // ---- BlockDevice ----
  std::string name() const override { return config_.name; }
  nbd::Geometry geometry() const override { return config_.geometry; }
  bool open(nbd::BlockClient& client) override;
  void close(nbd::BlockClient& client) override;
  std::unique_ptr<nbd::BlockBuffer> take_buffer(std::uint32_t length) override;
  void submit(std::uint64_t tag, nbd::BlockRequest request) override;

  // ---- The test's ----
  // Completes all that is under way and not held. False: there was nothing.
  bool run();
  // run() completes nothing.
  void hold(bool held) { is_held_ = held; }
  // Completes one, held or not: the first is 0. REQUIRES: it is there.
  void complete(std::size_t number);
  // Each request fails from now on, without effect; kDone: none does.
  void fail_with(nbd::BlockResult result) { result_ = result; }
  // take_buffer() throws std::bad_alloc.
  void lack_memory(bool lacks) { lacks_memory_ = lacks; }
  // Clients that open the device wait.
  void delay_ready(bool delayed) { is_ready_delayed_ = delayed; }
  // The memory of all buffers fails from now on.
  void break_memory() { pool_.truncate(0); }
  nbd::Geometry& change_geometry() { return config_.geometry; }

  bool is_open() const { return client_ != nullptr; }
  std::size_t under_way() const { return under_way_.size(); }
  std::size_t buffers_taken() const { return config_.buffers - free_.size(); }
  const std::vector<Seen>& seen() const { return seen_; }
  void forget_seen() { seen_.clear(); }
  std::span<std::byte> contents() const;

 private:
  class Buffer;
  struct UnderWay {
    bool is_of_client;  // that has the device
    std::uint64_t tag;
    nbd::BlockRequest request;
  };

  bool tell_ready();
  void carry_out(nbd::BlockRequest& request);
  void give_back(std::size_t buffer);

  Config config_;
  TestMemory storage_;
  TestMemory pool_;
  GuestMemory memory_;  // shows the pool
  std::vector<std::size_t> free_;
  nbd::BlockClient* client_ = nullptr;
  bool is_ready_ = false;
  bool wants_room_ = false;
  bool is_held_ = false;
  bool is_ready_delayed_ = false;
  bool lacks_memory_ = false;
  nbd::BlockResult result_ = nbd::BlockResult::kDone;
  std::deque<UnderWay> under_way_;
  std::vector<Seen> seen_;
};

}  // namespace paravane::fake
