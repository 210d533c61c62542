#include "scsi/sense.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/hex_bytes.h"

namespace paravane::scsi {
namespace {

using fake::hex_bytes;

Meaning meaning(SenseKey key, std::uint8_t asc, std::uint8_t ascq, bool is_deferred = false) {
  return Sense{.key = key, .asc = asc, .ascq = ascq, .is_deferred = is_deferred}.meaning();
}

TEST(ScsiSense, InBothFormats) {
  const Sense expected{.key = SenseKey::kIllegalRequest, .asc = 0x25, .ascq = 0x01};
  EXPECT_EQ(parse_sense(hex_bytes("70 00 05 00 00 00 00 0a 00 00 00 00 25 01 00 00 00 00")),
            expected);
  EXPECT_EQ(parse_sense(hex_bytes("f0 00 e5 11 22 33 44 0a 00 00 00 00 25 01 00 00 00 00")),
            expected)
      << "with information, and flags beside the key";
  EXPECT_EQ(parse_sense(hex_bytes("72 f5 25 01 00 00 00 00")), expected);
  EXPECT_TRUE(parse_sense(hex_bytes("71 00 03 00 00 00 00 0a 00 00 00 00 0c"))->is_deferred);
  EXPECT_TRUE(parse_sense(hex_bytes("73 03 0c 00 00 00 00 00"))->is_deferred);
}

TEST(ScsiSense, MayEndBeforeItsCodes) {
  EXPECT_EQ(parse_sense(hex_bytes("70 00 06")), (Sense{.key = SenseKey::kUnitAttention}));
  EXPECT_EQ(parse_sense(hex_bytes("70 00 06 00 00 00 00 05 00 00 00 00 29 01")),
            (Sense{.key = SenseKey::kUnitAttention, .asc = 0x29}))
      << "its length covers one code";
  EXPECT_EQ(parse_sense(hex_bytes("70 00 06 00 00 00 00 04 00 00 00 00 29 01")),
            (Sense{.key = SenseKey::kUnitAttention}));
  EXPECT_EQ(parse_sense(hex_bytes("70 00 06 00 00 00 00 ff 00 00 00 00 29")),
            (Sense{.key = SenseKey::kUnitAttention, .asc = 0x29}));
}

TEST(ScsiSense, OfAnotherFormatIsNone) {
  for (const char* text :
       {"", "70", "70 00", "72 05 25 01 00 00 00", "00 00 05", "7f 00 05", "74 05 25"})
    EXPECT_EQ(parse_sense(hex_bytes(text)), std::nullopt) << text;
}

TEST(ScsiSense, SaysWhatToDo) {
  using enum SenseKey;
  EXPECT_EQ(meaning(SenseKey::kNone, 0, 0), Meaning::kDone);
  EXPECT_EQ(meaning(kRecovered, 0x17, 1), Meaning::kDone);
  EXPECT_EQ(meaning(kNotReady, 0x04, 0x01), Meaning::kRetryLater);
  EXPECT_EQ(meaning(kNotReady, 0x04, 0x03), Meaning::kFatal);
  EXPECT_EQ(meaning(kNotReady, 0x3A, 0x02), Meaning::kFatal);
  EXPECT_EQ(meaning(kNotReady, 0x77, 0x77), Meaning::kRetryLater);
  EXPECT_EQ(meaning(kMedium, 0x11, 0), Meaning::kMediumError);
  EXPECT_EQ(meaning(kMedium, 0x77, 0), Meaning::kMediumError);
  EXPECT_EQ(meaning(kHardware, 0x44, 0), Meaning::kFatal);
  EXPECT_EQ(meaning(kIllegalRequest, 0x20, 0), Meaning::kUnsupported);
  EXPECT_EQ(meaning(kIllegalRequest, 0x21, 0), Meaning::kOutOfRange);
  EXPECT_EQ(meaning(kIllegalRequest, 0x24, 0), Meaning::kUnsupported);
  EXPECT_EQ(meaning(kIllegalRequest, 0x25, 0), Meaning::kLunGone);
  EXPECT_EQ(meaning(kIllegalRequest, 0x77, 0), Meaning::kFatal);
  EXPECT_EQ(meaning(kUnitAttention, 0x29, 0), Meaning::kRetryAtOnce);
  EXPECT_EQ(meaning(kUnitAttention, 0x2A, 0x09), Meaning::kCapacityChanged);
  EXPECT_EQ(meaning(kUnitAttention, 0x2A, 0x01), Meaning::kRetryAtOnce);
  EXPECT_EQ(meaning(kUnitAttention, 0x3F, 0x0E), Meaning::kReportedLunsChanged);
  EXPECT_EQ(meaning(kUnitAttention, 0x3F, 0x03), Meaning::kReportedLunsChanged);
  EXPECT_EQ(meaning(kUnitAttention, 0x3F, 0x01), Meaning::kRetryAtOnce);
  EXPECT_EQ(meaning(kUnitAttention, 0x38, 0x07), Meaning::kRetryAtOnce);
  EXPECT_EQ(meaning(kDataProtect, 0x27, 0x07), Meaning::kSpace);
  EXPECT_EQ(meaning(kDataProtect, 0x27, 0x00), Meaning::kWriteProtected);
  EXPECT_EQ(meaning(kAborted, 0x47, 0), Meaning::kRetryAtOnce);
  EXPECT_EQ(meaning(kAborted, 0x10, 1), Meaning::kMediumError);
  EXPECT_EQ(meaning(kMiscompare, 0x1D, 0), Meaning::kFatal);
  EXPECT_EQ(meaning(kVendor, 0x80, 0), Meaning::kFatal);
}

TEST(ScsiSense, OfAnEarlierCommandMeansThatThisOneWasNotBegun) {
  EXPECT_EQ(meaning(SenseKey::kRecovered, 0, 0, true), Meaning::kRetryAtOnce);
  EXPECT_EQ(meaning(SenseKey::kUnitAttention, 0x29, 0, true), Meaning::kRetryAtOnce);
  EXPECT_EQ(meaning(SenseKey::kMedium, 0x0C, 0, true), Meaning::kEarlierFailed);
  EXPECT_EQ(meaning(SenseKey::kDataProtect, 0x27, 0x07, true), Meaning::kEarlierFailed);
}

TEST(ScsiSense, EveryCodeHasAMeaningAndASentence) {
  for (unsigned key = 0; key < 16; ++key) {
    for (unsigned asc = 0; asc < 256; ++asc) {
      const Sense sense{.key = static_cast<SenseKey>(key), .asc = static_cast<std::uint8_t>(asc)};
      EXPECT_LE(sense.meaning(), Meaning::kFatal);
      EXPECT_FALSE(to_string(sense.meaning()).empty());
      EXPECT_FALSE(sense.sentence().empty());
    }
  }
  EXPECT_EQ((Sense{.key = SenseKey::kMedium, .asc = 0x11}.sentence()),
            "the medium cannot be read there (sense 3/11/00)");
  EXPECT_EQ(
      (Sense{.key = SenseKey::kMedium, .asc = 0x0C, .ascq = 2, .is_deferred = true}.sentence()),
      "of an earlier command: the medium cannot be written there (sense 3/0c/02)");
}

TEST(ScsiStatus, DecidesWhetherTheSenseCounts) {
  const Sense gone{.key = SenseKey::kIllegalRequest, .asc = 0x25};
  EXPECT_EQ(meaning_of(CommandStatus::kGood, std::nullopt), Meaning::kDone);
  EXPECT_EQ(meaning_of(CommandStatus::kGood, gone), Meaning::kDone);
  EXPECT_EQ(meaning_of(CommandStatus::kCheckCondition, gone), Meaning::kLunGone);
  EXPECT_EQ(meaning_of(CommandStatus::kCheckCondition, std::nullopt), Meaning::kFatal);
  EXPECT_EQ(meaning_of(CommandStatus::kBusy, gone), Meaning::kRetryLater);
  EXPECT_EQ(meaning_of(CommandStatus::kTaskSetFull, std::nullopt), Meaning::kRetryLater);
  EXPECT_EQ(meaning_of(CommandStatus::kAcaActive, std::nullopt), Meaning::kRetryLater);
  EXPECT_EQ(meaning_of(CommandStatus::kTaskAborted, std::nullopt), Meaning::kRetryAtOnce);
  EXPECT_EQ(meaning_of(CommandStatus::kReservationConflict, gone), Meaning::kReservationConflict);
  EXPECT_EQ(meaning_of(static_cast<CommandStatus>(0x01), gone), Meaning::kFatal);
}

TEST(ScsiStatus, HasASentence) {
  EXPECT_EQ(sentence_of(CommandStatus::kReservationConflict, std::nullopt),
            "another initiator has reserved the logical unit (status 18)");
  EXPECT_EQ(
      sentence_of(CommandStatus::kCheckCondition, Sense{.key = SenseKey::kHardware, .asc = 0x44}),
      "the device has a hardware error (sense 4/44/00)");
  for (unsigned status = 0; status < 256; ++status)
    EXPECT_FALSE(sentence_of(static_cast<CommandStatus>(status), std::nullopt).empty());
}

}  // namespace
}  // namespace paravane::scsi
