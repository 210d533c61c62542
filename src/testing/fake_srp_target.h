// FakeSrpTarget: an SRP target in memory, for tests, benchmarks and fuzzers, with logical units
// that a test keeps. It answers each IU by a callback, moves payload through a RemoteMemory, and
// can be told to lie in one answer, in each of the ways that a session must notice, or to hold
// answers back.
//
// It serves tests of what stands above a session; that a feature works is shown with LIO.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "srp/login.h"
#include "testing/fake_scsi_disk.h"
#include "testing/remote_memory.h"
#include "wire/srp/request.h"
#include "wire/srp/response.h"

namespace paravane::fake {

// Of the next answer to a command, or to task management where it says so.
enum class SrpLie : std::uint8_t {
  kNone,
  kTwice,              // the answer comes twice
  kOtherTag,           // of no request
  kOlderTag,           // of the same place, and an earlier request
  kOpcode,             // a kind that only initiators send
  kCut,                // shorter than its header
  kLong,               // longer than the login said
  kSenseBeyond,        // sense data beyond the IU
  kLengthsWrap,        // lengths whose sum wraps 32 bits
  kResidualBeyond,     // an underflow of more than there was
  kResidualElsewhere,  // in the other direction
  kResidualBoth,       // too many and too few
  kCreditsBeyond,      // 2^31 - 1 credits
  kCreditsBelow,       // -2^31 credits
  kNoResponseData,     // of task management: without its code
  kShortResponseData,  // likewise: three bytes of it
  kCount,
};

class FakeSrpTarget {
 public:
  using Deliver = std::function<void(std::span<const std::byte>)>;

  // `deliver` takes the target's IUs; it may be called from within receive(). Both outlive us.
  FakeSrpTarget(RemoteMemory& memory, Deliver deliver);

  // The disk outlives us.
  void add(std::uint32_t lun, FakeScsiDisk& disk) { disks_[lun] = &disk; }
  void remove(std::uint32_t lun) { disks_.erase(lun); }

  // Private data of a login in either form: those of the answer. `limit`: requests that it allows.
  std::vector<std::byte> log_in(std::span<const std::byte> request, std::uint32_t limit = 128);
  std::vector<std::byte> reject(std::span<const std::byte> request, std::uint32_t reason) const;

  // An IU of the initiator.
  void receive(std::span<const std::byte> iu);

  void lie(SrpLie lie) { lie_ = lie; }
  // Commands wait from now on; release() answers those that wait, and none waits any more.
  void hold() { is_holding_ = true; }
  void release();
  std::size_t held() const { return held_.size(); }
  // What task management is answered with; nullopt: not at all. kDone: it does it.
  std::optional<wire::srp::ResponseCode> management_answer = wire::srp::ResponseCode::kDone;

  void ask_for_credits(std::int32_t delta, std::uint64_t tag = 1);
  void report_event(scsi::Lun lun, const SenseCode& code, std::uint64_t tag = 2);
  void log_out(wire::srp::LogoutReason reason);

  unsigned answers_heard = 0;  // to ask_for_credits() and report_event()
  bool heard_logout = false;
  unsigned bad_requests = 0;  // IUs that no initiator may send
  unsigned bad_accesses = 0;  // memory that was not there

 private:
  struct Held {
    wire::srp::Command command{};
    std::optional<wire::srp::DirectDescriptor> data{};
  };
  void take_command(std::span<const std::byte> iu);
  void take_management(std::span<const std::byte> iu);
  void execute(const Held& held);
  DiskAnswer execute_on(const wire::srp::Command& command, std::span<const std::byte> out) const;
  DiskAnswer report_luns(const scsi::Cdb& cdb) const;
  void respond(const Held& held, const DiskAnswer& answer, std::uint32_t moved);
  void send(wire::srp::Response header, std::span<const std::byte> response,
            std::span<const std::byte> sense);

  RemoteMemory& memory_;
  Deliver deliver_;
  std::map<std::uint32_t, FakeScsiDisk*> disks_;
  std::deque<Held> held_;
  bool is_holding_ = false;
  SrpLie lie_ = SrpLie::kNone;
  std::int32_t credits_owed_ = 0;  // of commands that were aborted
  std::uint32_t iu_bytes_ = srp::kAskedIuBytes;
};

}  // namespace paravane::fake
