// Session: one login's life after it: commands and task management that are under way, by their
// tags, and the credits with which the target allows requests (SRP r16a, chapters 5 and 6).
//
// Payload is moved by the target, from and to memory that a command names; the session knows only
// how long it is. A target is an enemy: what it sends is copied, checked in each of its lengths,
// and believed only where it answers something. Whatever it should not have sent is an error of
// receive(); then the session is over, and its owner ends the connection and calls drop_all().
//
// Credits. Each request costs one; each IU of the target says how many it gives or takes back. A
// command is sent only if one is left over, with which task management is possible at any time, if
// the target ever gave two.
//
// Task management. ABORT TASK ends one command, LUN RESET all of a logical unit that were submitted
// before it; both only when the target answers that they are done. Until then an answer to the
// command itself counts, as always. After that, one answer to such a command is let pass, for its
// credits alone: LIO may complete a command in the moment of a reset, and send the answer behind
// that of the reset. A command that is submitted to a logical unit while its reset is under way may
// end in it without an answer, so none should be.
//
// The place in a tag (slot_of()) is below the number of commands, so an owner may keep what it
// knows of a command in a table of that size.
//
// Owner thread only; without a clock: recovery.h says what to do when an answer does not come.
// Allocates when it is made, and for the text of errors.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/free_numbers.h"
#include "base/result.h"
#include "scsi/lun.h"
#include "scsi/request.h"
#include "srp/login.h"
#include "srp/response.h"
#include "srp/tag.h"
#include "wire/srp/request.h"

namespace paravane::srp {

using wire::srp::TaskAttribute;
using wire::srp::TaskFunction;

// What carries IUs to the target.
class Sender {
 public:
  // False: it has no room now, and nothing was sent. The bytes are copied.
  virtual bool send(std::span<const std::byte> iu) = 0;

 protected:
  ~Sender() = default;
};

// Memory that the target may write (kIn) or read (kOut) for one command.
struct DataPlace {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t bytes = 0;
  scsi::Direction direction = scsi::Direction::kNone;
};

struct Command {
  scsi::Lun lun{};
  scsi::Cdb cdb{};
  DataPlace data{};
  TaskAttribute attribute = TaskAttribute::kSimple;
};

// What a target's IU has come to. Called from within receive(), when the tag is free again and the
// credits count; may submit() and manage(), but not receive() nor drop_all().
class SessionEvents {
 public:
  // The command's answer. Its memory is the owner's again, as far as the target is honest.
  virtual void on_response(Tag command, const Response& response) = 0;
  // Task management has ended the command, and the target gives no answer to it.
  virtual void on_aborted(Tag command) = 0;
  // Follows on_aborted() of each command that ended.
  virtual void on_managed(Tag request, TaskFunction function, ResponseCode code) = 0;
  // The target tells something that no command asked for (AER).
  virtual void on_async_event(scsi::Lun lun, const std::optional<scsi::Sense>& sense) = 0;
  // The target has ended the session, for this reason. drop_all() is to follow.
  virtual void on_logout(const std::string& reason) = 0;
  // From drop_all(): no answer comes any more.
  virtual void on_dropped(Tag request) = 0;

 protected:
  ~SessionEvents() = default;
};

class Session {
 public:
  static constexpr std::size_t kMostCommands = 4096;
  static constexpr std::size_t kMostManagement = 16;
  // Answers to the target's requests that the sender has no room for.
  static constexpr std::size_t kMostWaiting = 16;
  static constexpr std::int64_t kMostCredits = kMostRequestLimit;

  // `commands`: how many may be under way, 1 to kMostCommands. `sender` outlives us.
  Session(const LoginTerms& terms, std::size_t commands, Sender& sender);

  // Whether a command may be sent now: the session goes on, a tag and a credit are there.
  bool has_room() const;
  // nullopt: the sender has no room, and nothing has changed. REQUIRES: has_room(); a direction
  // with its bytes, or kNone with 0.
  std::optional<Tag> submit(const Command& command);

  bool can_manage() const;
  // `task`: of kAbortTask, the command, which may have ended meanwhile. REQUIRES: can_manage();
  // `function` is kAbortTask or kLunReset. nullopt: as with submit().
  std::optional<Tag> manage(TaskFunction function, scsi::Lun lun, std::optional<Tag> task = {});

  // One IU of the target.
  Status receive(std::span<const std::byte> iu, SessionEvents& events);

  // The sender may have room again.
  void flush();
  // Says farewell to the target; the session is over. Sent as far as there is room and credit.
  void log_out();
  // The connection has ended: all requests that are under way are given back, and the session is
  // over.
  void drop_all(SessionEvents& events);

  bool is_over() const { return is_over_; }
  bool is_under_way(Tag request) const;
  std::size_t commands() const { return commands_; }
  std::size_t management() const { return management_; }
  std::int64_t credits() const { return credits_; }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Slot {
    Tag tag = Tag::kNone;  // of the last request here
    bool is_used = false;
    bool may_be_late = false;  // task management has ended it, and an answer may be on its way
    scsi::Lun lun{};
    scsi::Direction direction = scsi::Direction::kNone;  // of a command
    std::uint32_t bytes = 0;
    TaskFunction function{};  // of task management
    Tag task = Tag::kNone;
  };
  using AnswerIu = std::array<std::byte, sizeof(wire::srp::Answer)>;

  Status take(std::span<const std::byte> iu, SessionEvents& events);
  Status take_response(std::span<const std::byte> iu, SessionEvents& events);
  Status take_command_response(std::span<const std::byte> iu, Slot& slot, SessionEvents& events);
  Status take_management_response(std::span<const std::byte> iu, Slot& slot, SessionEvents& events);
  Status take_credit_request(std::span<const std::byte> iu);
  Status take_async_event(std::span<const std::byte> iu, SessionEvents& events);
  Status take_logout(std::span<const std::byte> iu, SessionEvents& events);
  Status add_credits(std::uint32_t delta);
  Status answer(wire::srp::Opcode opcode, std::uint64_t tag);
  void end_managed(const Slot& done, SessionEvents& events);
  void end_command(Slot& slot, bool may_be_late);
  // The place that the tag names, if its last request was this one.
  template <typename Self>
  static auto find(Self& self, Tag request) -> decltype(&self.management_slots_[0]);

  Sender& sender_;
  std::vector<std::byte> copy_;  // of the IU that is being taken
  std::vector<Slot> command_slots_;
  FreeNumbers free_;  // of them; used again as late as possible
  std::array<Slot, kMostManagement> management_slots_{};
  std::size_t commands_ = 0;
  std::size_t management_ = 0;
  std::uint64_t generation_ = 0;  // of the last request
  std::int64_t credits_;
  std::int64_t reserve_;  // of credits, for task management
  std::vector<AnswerIu> waiting_;
  bool is_over_ = false;
};

}  // namespace paravane::srp
