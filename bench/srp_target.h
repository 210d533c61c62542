// SrpTarget: an SRP target in a VM, whose disk is memory of the VM. It is lean, so that a benchmark
// measures the host and not the target: the payload of READ (16) and WRITE (16), the only ones that
// the initiator sends, goes by RDMA between its memory and the disk itself. The fakes of the tests
// answer all else.
//
// One initiator at a time, and one logical unit, LUN 0, which has no cache and is not thin. The
// answer to a read is sent right behind its RDMA WRITE, as LIO does it: a reliable connection
// delivers them in that order. The answer to a write is sent when its RDMA READ has ended.
//
// Owner thread only. What should not happen in a benchmark ends the process.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "host_verbs/completion_inbox.h"
#include "host_verbs/request_queue.h"
#include "testing/engine_vm.h"
#include "testing/fake_scsi_disk.h"
#include "testing/fake_srp_target.h"
#include "testing/remote_memory.h"
#include "verbs/queue_pair.h"
#include "wire/infiniband/communication.h"
#include "wire/infiniband/mad.h"

namespace paravane::bench {

class SrpTarget final : private fake::RemoteMemory {
 public:
  static constexpr std::uint64_t kService = 0x0002'C903'0000'0001;
  static constexpr std::uint64_t kOtherBytes = std::uint64_t{4} << 20;  // beside the disk

  // `vm` has at least `disk_bytes` + kOtherBytes of memory, and outlives us. `disk_bytes`: whole
  // pages.
  SrpTarget(fake::EngineVm& vm, std::uint64_t disk_bytes);
  ~SrpTarget() override;
  SrpTarget(const SrpTarget&) = delete;
  SrpTarget& operator=(const SrpTarget&) = delete;

  // A datagram of the connection manager of the initiator, which has this GID. The answer; nullopt:
  // it has none.
  using Mad = wire::infiniband::MadBytes;
  std::optional<Mad> receive(const verbs::Gid& from, const Mad& mad);

  bool has_work() const { return !sent_.empty() || !received_.empty(); }
  // Takes what the queue pair has completed.
  void pump();

 private:
  // What a place of answers is waiting for.
  enum class Step : std::uint8_t { kFetched, kSent };

  // ---- RemoteMemory, for the fakes ----
  bool read(std::uint64_t address, std::uint32_t key, std::span<std::byte> to) override;
  bool write(std::uint64_t address, std::uint32_t key, std::span<const std::byte> from) override;

  Mad accept(const verbs::Gid& from, const wire::infiniband::ConnectionRequest& request);
  void begin_qp(const verbs::Gid& peer, const wire::infiniband::ConnectionRequest& request);
  void post_receive(std::uint64_t place);
  void post(const verbs::SendRequest& request);
  void take_iu(std::span<const std::byte> iu);
  // False: it is for the fakes.
  bool move_blocks(std::span<const std::byte> iu);
  std::uint32_t place_of_answer();
  void send(std::uint32_t place, std::size_t bytes);

  fake::EngineVm& vm_;
  fake::EngineBuffer disk_memory_;
  fake::EngineBuffer incoming_;
  fake::EngineBuffer outgoing_;
  fake::EngineBuffer scratch_;  // payload of what the fakes answer
  fake::FakeScsiDisk disk_;     // what it says of itself; its blocks are in disk_memory_
  fake::FakeSrpTarget fakes_;
  host_verbs::RequestQueue work_;
  host_verbs::CompletionInbox sent_;
  host_verbs::CompletionInbox received_;
  std::unique_ptr<verbs::QueuePair> qp_;
  std::vector<std::uint32_t> free_answers_;
  std::uint32_t next_scratch_ = 0;
};

}  // namespace paravane::bench
