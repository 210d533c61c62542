// ShortWriter: a guest's program that writes 64 bytes again and again, posted 32 at a time.
//
// Worker's thread, but for what follows await_end().

#pragma once

#include <cstdint>

#include "bench/guest_program.h"
#include "bench/host_queues.h"
#include "bench/stopwatch.h"

namespace paravane::bench {

class ShortWriter final : public GuestProgram {
 public:
  static constexpr std::uint32_t kBytes = 64;
  static constexpr std::uint32_t kBatch = 32;
  static constexpr std::uint32_t kDepth = 512;  // requests outstanding

  // From the buffer of `own`, whose first queue pair takes kDepth requests, to `peer`.
  ShortWriter(QueuesEnd& own, const fake::FakeMr& peer, std::uint64_t writes)
      : own_(own), peer_(peer), writes_(writes) {}

  bool ready() const override { return posted_ == 0 || own_.cq->unconsumed() > 0; }
  void step() override;

  // After its end.
  double million_per_second() const { return static_cast<double>(writes_) / seconds_ / 1e6; }

 private:
  void post();

  QueuesEnd& own_;
  const fake::FakeMr& peer_;
  const std::uint64_t writes_;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  Stopwatch watch_;
  double seconds_ = 0;
};

}  // namespace paravane::bench
