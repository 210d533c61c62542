// Sense: why a command did not simply succeed, in the words of the logical unit (SPC-4, 4.5), and
// what is to be done about it.
//
// A target may send any number; each has a meaning, which for unknown ones is kFatal, and a
// sentence. Whatever repeats a command must count: a target can say kRetryAtOnce for ever.
//
// Plain values and pure functions; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "wire/scsi/sense.h"

namespace paravane::scsi {

using wire::scsi::SenseKey;
using CommandStatus = wire::scsi::Status;

enum class Meaning : std::uint8_t {
  kDone,         // the command was carried out
  kRetryAtOnce,  // it was not, for a reason that is over with this answer: a unit attention
  kRetryLater,   // not now: the logical unit becomes ready, or is busy
  kLunGone,      // the target has no such logical unit (any more)
  kReservationConflict,
  kWriteProtected,
  kMediumError,          // these blocks cannot be read or written
  kReportedLunsChanged,  // not carried out; the target's logical units are to be asked for anew
  kCapacityChanged,      // not carried out; READ CAPACITY is to be asked again
  kSpace,                // a thin pool is full
  kUnsupported,          // the logical unit does not know the command, or a field of it
  kOutOfRange,           // blocks beyond the end
  kEarlierFailed,        // not carried out, and an earlier command that was answered has failed
  kFatal,                // it will not get better
};

struct Sense {
  SenseKey key = SenseKey::kNone;
  std::uint8_t asc = 0;   // additional sense code
  std::uint8_t ascq = 0;  // and its qualifier
  bool is_deferred = false;

  Meaning meaning() const;
  // "the medium has an error (sense 3/11/00)": for an operator. Without a dot at its end.
  std::string sentence() const;

  friend bool operator==(const Sense&, const Sense&) = default;
};

// nullopt: no sense data of either format. Fixed data may end before the codes, which are 0 then.
std::optional<Sense> parse_sense(std::span<const std::byte> bytes);

// Of a whole answer: the status decides, and the sense data if it is kCheckCondition.
Meaning meaning_of(CommandStatus status, const std::optional<Sense>& sense);
std::string sentence_of(CommandStatus status, const std::optional<Sense>& sense);

std::string_view to_string(Meaning meaning);  // "retry later", for logs

}  // namespace paravane::scsi
