// HostQueues: connected queue pairs between the guests of two hosts, with one process
// and one buffer at either end.
//
// Made on the benchmark's thread; an end belongs to its host's worker.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "bench/worker_host.h"

namespace paravane::bench {

struct QueuesSpec {
  std::uint32_t queue_pairs = 1;
  std::uint32_t send_requests = 64;  // of each
  std::uint64_t buffer_bytes = 4096;
  // In the guest's kernel, whose doorbells are trapped: a worker that sleeps hears of
  // them, where a program's own are found by looking.
  bool in_kernel = false;
  bool datagrams = false;  // not connected: they take whatever has kQkey
};

inline constexpr std::uint32_t kQkey = 7;

struct QueuesEnd {
  fake::FakePd* pd = nullptr;
  fake::FakeMr* buffer = nullptr;
  fake::FakeCq* cq = nullptr;
  std::vector<fake::FakeQp*> qps;
  fake::GidBytes gid{};
};

class HostQueues {
 public:
  HostQueues(HostPair& hosts, const QueuesSpec& spec);

  QueuesEnd& end(unsigned side) { return ends_[side]; }

 private:
  std::array<QueuesEnd, 2> ends_;
};

}  // namespace paravane::bench
