#include "scsi/sense.h"

#include <fmt/core.h>

#include "wire/roce/header_at.h"

namespace paravane::scsi {
namespace {

constexpr std::uint8_t kResponseCodeBits = 0x7F;
constexpr std::uint8_t kKeyBits = 0x0F;

// A code with or without a certain qualifier, what it means, and its words.
struct Row {
  SenseKey key;
  int asc;   // kAny: each
  int ascq;  // kAny: each
  Meaning meaning;
  std::string_view words;
};
constexpr int kAny = -1;

// The first that fits is taken, so those with a qualifier stand before those without.
constexpr Row kRows[] = {
    {SenseKey::kNone, kAny, kAny, Meaning::kDone, "nothing is wrong"},
    {SenseKey::kRecovered, kAny, kAny, Meaning::kDone, "an error was corrected"},
    {SenseKey::kCompleted, kAny, kAny, Meaning::kDone, "the command is complete"},

    {SenseKey::kNotReady, 0x04, 0x01, Meaning::kRetryLater, "the logical unit is becoming ready"},
    {SenseKey::kNotReady, 0x04, 0x03, Meaning::kFatal,
     "the logical unit is not ready until someone intervenes"},
    {SenseKey::kNotReady, 0x04, 0x0A, Meaning::kRetryLater,
     "the path to the logical unit changes its state"},
    {SenseKey::kNotReady, 0x04, 0x0B, Meaning::kRetryLater,
     "the path to the logical unit is in standby"},
    {SenseKey::kNotReady, 0x04, 0x0C, Meaning::kRetryLater,
     "the path to the logical unit is unavailable"},
    {SenseKey::kNotReady, 0x08, kAny, Meaning::kRetryLater,
     "the target cannot reach the storage behind the logical unit"},
    {SenseKey::kNotReady, 0x3A, kAny, Meaning::kFatal, "the logical unit has no medium"},
    {SenseKey::kNotReady, kAny, kAny, Meaning::kRetryLater, "the logical unit is not ready"},

    {SenseKey::kMedium, 0x0C, kAny, Meaning::kMediumError, "the medium cannot be written there"},
    {SenseKey::kMedium, 0x11, kAny, Meaning::kMediumError, "the medium cannot be read there"},
    {SenseKey::kMedium, kAny, kAny, Meaning::kMediumError, "the medium has an error"},
    {SenseKey::kHardware, kAny, kAny, Meaning::kFatal, "the device has a hardware error"},

    {SenseKey::kIllegalRequest, 0x08, kAny, Meaning::kRetryLater,
     "the target cannot reach the storage behind the logical unit"},
    {SenseKey::kIllegalRequest, 0x20, kAny, Meaning::kUnsupported,
     "the logical unit does not know the command"},
    {SenseKey::kIllegalRequest, 0x21, kAny, Meaning::kOutOfRange,
     "the blocks lie beyond the end of the logical unit"},
    {SenseKey::kIllegalRequest, 0x24, kAny, Meaning::kUnsupported,
     "the logical unit does not support a field of the command"},
    {SenseKey::kIllegalRequest, 0x25, kAny, Meaning::kLunGone,
     "the target has no such logical unit"},
    {SenseKey::kIllegalRequest, 0x26, kAny, Meaning::kUnsupported,
     "the logical unit does not support a parameter of the command"},
    {SenseKey::kIllegalRequest, kAny, kAny, Meaning::kFatal,
     "the logical unit refuses the command"},

    {SenseKey::kUnitAttention, 0x28, kAny, Meaning::kRetryAtOnce,
     "the medium may have been changed"},
    {SenseKey::kUnitAttention, 0x29, kAny, Meaning::kRetryAtOnce,
     "the logical unit was reset, or the login is new"},
    {SenseKey::kUnitAttention, 0x2A, 0x09, Meaning::kCapacityChanged,
     "the capacity of the logical unit has changed"},
    {SenseKey::kUnitAttention, 0x2A, kAny, Meaning::kRetryAtOnce,
     "parameters of the logical unit have changed"},
    {SenseKey::kUnitAttention, 0x38, 0x07, Meaning::kRetryAtOnce,
     "the pool of the logical unit is nearly full"},
    {SenseKey::kUnitAttention, 0x3F, 0x03, Meaning::kReportedLunsChanged,
     "what the logical unit says of itself has changed"},
    {SenseKey::kUnitAttention, 0x3F, 0x05, Meaning::kReportedLunsChanged,
     "the name of the logical unit has changed"},
    {SenseKey::kUnitAttention, 0x3F, 0x0E, Meaning::kReportedLunsChanged,
     "the logical units of the target have changed"},
    {SenseKey::kUnitAttention, kAny, kAny, Meaning::kRetryAtOnce,
     "the logical unit has something to tell"},

    {SenseKey::kDataProtect, 0x27, 0x07, Meaning::kSpace,
     "the pool of the logical unit has no space left"},
    {SenseKey::kDataProtect, kAny, kAny, Meaning::kWriteProtected,
     "the logical unit is write protected"},

    {SenseKey::kAborted, 0x10, kAny, Meaning::kMediumError,
     "the data do not fit their protection information"},
    {SenseKey::kAborted, kAny, kAny, Meaning::kRetryAtOnce, "the target aborted the command"},
    {SenseKey::kVolumeOverflow, kAny, kAny, Meaning::kFatal, "the end of the medium was reached"},
    {SenseKey::kMiscompare, kAny, kAny, Meaning::kFatal, "the data are not those on the medium"},
};

constexpr Row kUnknown{SenseKey::kReserved, kAny, kAny, Meaning::kFatal,
                       "the command failed for a reason that is not known"};

const Row& row_of(const Sense& sense) {
  for (const Row& row : kRows) {
    if (row.key == sense.key && (row.asc == kAny || row.asc == sense.asc) &&
        (row.ascq == kAny || row.ascq == sense.ascq)) {
      return row;
    }
  }
  return kUnknown;
}

std::optional<Meaning> meaning_without_sense(CommandStatus status) {
  switch (status) {
    case CommandStatus::kGood:
    case CommandStatus::kConditionMet: return Meaning::kDone;
    case CommandStatus::kBusy:
    case CommandStatus::kTaskSetFull:
    case CommandStatus::kAcaActive: return Meaning::kRetryLater;
    case CommandStatus::kTaskAborted: return Meaning::kRetryAtOnce;
    case CommandStatus::kReservationConflict: return Meaning::kReservationConflict;
    case CommandStatus::kCheckCondition: return std::nullopt;
  }
  return Meaning::kFatal;
}

std::string_view words_of(CommandStatus status) {
  switch (status) {
    case CommandStatus::kGood:
    case CommandStatus::kConditionMet: return "nothing is wrong";
    case CommandStatus::kBusy: return "the logical unit is busy";
    case CommandStatus::kTaskSetFull: return "the logical unit has too many commands";
    case CommandStatus::kAcaActive: return "the logical unit waits until an error is cleared";
    case CommandStatus::kTaskAborted: return "another initiator aborted the command";
    case CommandStatus::kReservationConflict:
      return "another initiator has reserved the logical unit";
    case CommandStatus::kCheckCondition: return "the command failed, and the target says not why";
  }
  return "the target answers with a status that is not known";
}

}  // namespace

Meaning Sense::meaning() const {
  const Meaning own = row_of(*this).meaning;
  if (!is_deferred) return own;
  // The command that this answers was not begun, whatever an earlier one came to.
  return own == Meaning::kDone || own == Meaning::kRetryAtOnce ? Meaning::kRetryAtOnce
                                                               : Meaning::kEarlierFailed;
}

std::string Sense::sentence() const {
  return fmt::format("{}{} (sense {:x}/{:02x}/{:02x})",
                     is_deferred ? "of an earlier command: " : "", row_of(*this).words,
                     static_cast<unsigned>(key), asc, ascq);
}

std::optional<Sense> parse_sense(std::span<const std::byte> bytes) {
  if (bytes.empty()) return std::nullopt;
  const std::uint8_t code = std::to_integer<std::uint8_t>(bytes[0]) & kResponseCodeBits;
  const auto byte_at = [&](std::size_t at) {
    return at < bytes.size() ? std::to_integer<std::uint8_t>(bytes[at]) : std::uint8_t{0};
  };
  switch (code) {
    case wire::scsi::kFixedCurrent:
    case wire::scsi::kFixedDeferred: {
      using wire::scsi::FixedSense;
      if (bytes.size() <= offsetof(FixedSense, key)) return std::nullopt;
      // What lies behind the additional length is not said.
      const std::size_t said = offsetof(FixedSense, additional_bytes) + 1 +
                               byte_at(offsetof(FixedSense, additional_bytes));
      const bool has_asc = said > offsetof(FixedSense, asc);
      const bool has_ascq = said > offsetof(FixedSense, ascq);
      return Sense{.key = static_cast<SenseKey>(byte_at(offsetof(FixedSense, key)) & kKeyBits),
                   .asc = has_asc ? byte_at(offsetof(FixedSense, asc)) : std::uint8_t{0},
                   .ascq = has_ascq ? byte_at(offsetof(FixedSense, ascq)) : std::uint8_t{0},
                   .is_deferred = code == wire::scsi::kFixedDeferred};
    }
    case wire::scsi::kDescriptorCurrent:
    case wire::scsi::kDescriptorDeferred: {
      if (bytes.size() < sizeof(wire::scsi::DescriptorSense)) return std::nullopt;
      const auto data = wire::roce::header_at<wire::scsi::DescriptorSense>(bytes);
      return Sense{.key = static_cast<SenseKey>(data.key & kKeyBits),
                   .asc = data.asc,
                   .ascq = data.ascq,
                   .is_deferred = code == wire::scsi::kDescriptorDeferred};
    }
    default: return std::nullopt;
  }
}

Meaning meaning_of(CommandStatus status, const std::optional<Sense>& sense) {
  if (const auto meaning = meaning_without_sense(status)) return *meaning;
  return sense ? sense->meaning() : Meaning::kFatal;
}

std::string sentence_of(CommandStatus status, const std::optional<Sense>& sense) {
  if (status == CommandStatus::kCheckCondition && sense) return sense->sentence();
  return fmt::format("{} (status {:02x})", words_of(status), static_cast<unsigned>(status));
}

std::string_view to_string(Meaning meaning) {
  switch (meaning) {
    case Meaning::kDone: return "done";
    case Meaning::kRetryAtOnce: return "retry at once";
    case Meaning::kRetryLater: return "retry later";
    case Meaning::kLunGone: return "no such logical unit";
    case Meaning::kReservationConflict: return "reservation conflict";
    case Meaning::kWriteProtected: return "write protected";
    case Meaning::kMediumError: return "medium error";
    case Meaning::kReportedLunsChanged: return "logical units changed";
    case Meaning::kCapacityChanged: return "capacity changed";
    case Meaning::kSpace: return "no space";
    case Meaning::kUnsupported: return "unsupported";
    case Meaning::kOutOfRange: return "out of range";
    case Meaning::kEarlierFailed: return "earlier command failed";
    case Meaning::kFatal: return "fatal";
  }
  return "";
}

}  // namespace paravane::scsi
