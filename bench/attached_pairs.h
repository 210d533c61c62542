// AttachedPairs: VMs at a real daemon with connected queue pairs, of which one pair can be used
// while the daemon is upgraded.
//
// The thread that made it, unless said otherwise.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/daemon_process.h"
#include "testing/attached_vm.h"

namespace paravane::bench {

struct PairsSpec {
  unsigned vms = 1;
  unsigned queue_pairs = 10;        // in all; rounded up to two for each VM
  std::uint64_t written_bytes = 0;  // of memory, which write_memory() writes by RDMA; of one VM
  // Of 1 GiB each, of which no page follows the one before it: the longest state there is of so
  // much memory. They show the same pages. Of one VM.
  unsigned scattered_regions = 0;
};

class AttachedPairs {
 public:
  // Each queue pair has a completion queue of its own and a receive, and is connected to one of the
  // next VM, or of the same VM if there is one alone.
  AttachedPairs(DaemonProcess& daemon, const PairsSpec& spec);

  unsigned queue_pairs() const { return queue_pairs_; }

  // 8 bytes by an RDMA write to the peer's memory and back. Any one thread, while nothing else is
  // called. Ends the program when they do not arrive, or when one has completed in error.
  void there_and_back();
  // All of PairsSpec::written_bytes.
  void write_memory();
  // One write to the end of each scattered region arrives where it belongs.
  void try_scattered();
  // Of each VM.
  void demand_responses();

 private:
  struct End {
    fake::FakePd* pd = nullptr;
    fake::FakeMr* buffer = nullptr;
    fake::FakeCq* cq = nullptr;
    fake::FakeQp* qp = nullptr;
  };
  struct Process {
    fake::FakePd* pd = nullptr;
    fake::FakeMr* buffer = nullptr;
  };

  void attach(DaemonProcess& daemon, std::uint64_t ram_bytes);
  End make_end(std::size_t vm);
  void connect(std::size_t vm, std::size_t peer);
  void register_memory(std::uint64_t bytes);
  void register_scattered(unsigned regions);
  void write(std::uint64_t va, std::uint32_t rkey, std::uint32_t bytes);
  void send(const End& from, const End& to);

  std::vector<std::unique_ptr<fake::AttachedVm>> vms_;
  std::vector<Process> processes_;  // one in each VM
  std::array<End, 2> probed_;
  fake::FakeMr* source_ = nullptr;
  std::vector<const fake::FakeMr*> regions_;
  fake::PageSet scattered_pages_;
  std::vector<std::uint32_t> scattered_keys_;
  unsigned queue_pairs_ = 0;
  std::uint64_t round_ = 0;
};

}  // namespace paravane::bench
