#include "srp/response.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "testing/hex_bytes.h"

namespace paravane::srp {
namespace {

using fake::hex_bytes;
using scsi::Direction;
using Kind = Residual::Kind;

// The fields of a response: flags and status, residuals, lengths of sense and response data.
std::vector<std::byte> response_iu(std::string_view flags_status, std::string_view out = "00000000",
                                   std::string_view in = "00000000",
                                   std::string_view sense = "00000000",
                                   std::string_view response = "00000000",
                                   std::string_view behind = "") {
  std::string text = "c1000000 00000001 0000000000010000 0000";
  for (const std::string_view part : {flags_status, out, in, sense, response, behind}) text += part;
  return hex_bytes(text);
}

bool is_refused(const std::vector<std::byte>& iu, Direction direction, std::uint32_t length) {
  return !parse_response(iu, direction, length).has_value();
}
Residual residual_of_iu(const std::vector<std::byte>& iu, Direction direction,
                        std::uint32_t length) {
  const auto response = parse_response(iu, direction, length);
  EXPECT_TRUE(response.has_value());
  return response ? response->residual : Residual{};
}

constexpr std::string_view kSense = "70000500000000 0a 00000000 2500 00000000";

TEST(SrpResponse, OfACommandThatIsDone) {
  const auto response = parse_response(response_iu("0000"), Direction::kIn, 512);
  ASSERT_TRUE(response);
  EXPECT_EQ(*response, Response{});
  EXPECT_TRUE(response->is_complete());
  EXPECT_EQ(response->moved(512), 512u);
}

TEST(SrpResponse, WithSense) {
  const auto response =
      parse_response(response_iu("0202", "00000000", "00000000", "00000012", "00000000", kSense),
                     Direction::kIn, 512);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, scsi::CommandStatus::kCheckCondition);
  EXPECT_EQ(response->sense, (scsi::Sense{.key = scsi::SenseKey::kIllegalRequest, .asc = 0x25}));
  EXPECT_FALSE(response->is_complete());
}

TEST(SrpResponse, SenseLiesBehindTheResponseData) {
  const std::string behind = "00000000" + std::string(kSense);
  const auto response =
      parse_response(response_iu("0302", "00000000", "00000000", "00000012", "00000004", behind),
                     Direction::kNone, 0);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->sense->asc, 0x25);
  EXPECT_EQ(response->failure, std::nullopt) << "code 0";
}

TEST(SrpResponse, LengthsCountOnlyWithTheirFlags) {
  const auto response = parse_response(
      response_iu("0002", "00000000", "00000000", "ffffffff", "ffffffff"), Direction::kNone, 0);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->sense, std::nullopt);
  const auto sense =
      parse_response(response_iu("0202", "00000000", "00000000", "00000012", "00000004", kSense),
                     Direction::kNone, 0);
  ASSERT_TRUE(sense);
  EXPECT_EQ(sense->sense->asc, 0x25);
}

TEST(SrpResponse, RefusesLengthsBeyondTheIu) {
  const auto lengths = [](std::string_view sense, std::string_view response) {
    return response_iu("0302", "00000000", "00000000", sense, response,
                       "00000000" + std::string(kSense));
  };
  EXPECT_FALSE(is_refused(lengths("00000012", "00000004"), Direction::kNone, 0));
  EXPECT_TRUE(is_refused(lengths("00000013", "00000004"), Direction::kNone, 0));
  EXPECT_TRUE(is_refused(lengths("00000012", "00000005"), Direction::kNone, 0));
  EXPECT_TRUE(is_refused(lengths("00000000", "00000017"), Direction::kNone, 0));
  EXPECT_TRUE(is_refused(lengths("fffffff0", "00000010"), Direction::kNone, 0)) << "wraps";
  EXPECT_TRUE(is_refused(lengths("00000010", "fffffff0"), Direction::kNone, 0)) << "wraps";
  EXPECT_TRUE(is_refused(lengths("80000000", "80000000"), Direction::kNone, 0)) << "wraps";
}

TEST(SrpResponse, CountsWhatWasNotMoved) {
  const auto in = response_iu("2000", "00000000", "00000064");
  EXPECT_EQ(residual_of_iu(in, Direction::kIn, 512),
            (Residual{.kind = Kind::kUnderflow, .direction = Direction::kIn, .bytes = 100}));
  EXPECT_EQ(parse_response(in, Direction::kIn, 512)->moved(512), 412u);
  EXPECT_FALSE(parse_response(in, Direction::kIn, 512)->is_complete());
  EXPECT_EQ(residual_of_iu(response_iu("0800", "00000200"), Direction::kOut, 512),
            (Residual{.kind = Kind::kUnderflow, .direction = Direction::kOut, .bytes = 512}));
  EXPECT_EQ(residual_of_iu(response_iu("0000", "00000200", "00000200"), Direction::kIn, 512),
            Residual{})
      << "counts without their flags";
  EXPECT_EQ(residual_of_iu(response_iu("2800"), Direction::kNone, 0), Residual{})
      << "flags without a count";
}

TEST(SrpResponse, CountsWhatWouldHaveBeenMovedMore) {
  EXPECT_EQ(residual_of_iu(response_iu("1000", "00000000", "00001000"), Direction::kIn, 512),
            (Residual{.kind = Kind::kOverflow, .direction = Direction::kIn, .bytes = 4096}));
  EXPECT_EQ(
      residual_of_iu(response_iu("0400", "ffffffff"), Direction::kOut, 512),
      (Residual{.kind = Kind::kOverflow, .direction = Direction::kOut, .bytes = 0xFFFF'FFFF}));
  EXPECT_EQ(parse_response(response_iu("0400", "ffffffff"), Direction::kOut, 512)->moved(512),
            512u);
  EXPECT_FALSE(
      parse_response(response_iu("0400", "00000001"), Direction::kOut, 512)->is_complete());
}

TEST(SrpResponse, RefusesResidualsThatCannotBe) {
  EXPECT_TRUE(is_refused(response_iu("2000", "00000000", "00000201"), Direction::kIn, 512));
  EXPECT_TRUE(is_refused(response_iu("0800", "00000201"), Direction::kOut, 512));
  EXPECT_TRUE(is_refused(response_iu("0800", "ffffffff"), Direction::kOut, 512));
  EXPECT_TRUE(is_refused(response_iu("0800", "00000001"), Direction::kIn, 512)) << "the other way";
  EXPECT_TRUE(is_refused(response_iu("0400", "00000001"), Direction::kIn, 512)) << "the other way";
  EXPECT_TRUE(is_refused(response_iu("2000", "00000000", "00000001"), Direction::kOut, 512));
  EXPECT_TRUE(is_refused(response_iu("1000", "00000000", "00000001"), Direction::kNone, 0));
  EXPECT_TRUE(is_refused(response_iu("3000", "00000000", "00000001"), Direction::kIn, 512))
      << "too many and too few";
  EXPECT_TRUE(is_refused(response_iu("0c00", "00000001"), Direction::kOut, 512));
}

TEST(SrpResponse, MaySayThatTheRequestWasNoCommand) {
  const auto with_code = [](std::string_view code) {
    return parse_response(response_iu("0100", "00000000", "00000000", "00000000", "00000004", code),
                          Direction::kNone, 0);
  };
  EXPECT_EQ(with_code("00000002")->failure, ResponseCode::kInvalidFields);
  EXPECT_FALSE(with_code("00000002")->is_complete());
  EXPECT_EQ(with_code("ffffff00")->failure, std::nullopt) << "three bytes are reserved";
  EXPECT_EQ(with_code("00000077")->failure, static_cast<ResponseCode>(0x77));
  EXPECT_TRUE(
      is_refused(response_iu("0100", "00000000", "00000000", "00000000", "00000003", "000000"),
                 Direction::kNone, 0));
  EXPECT_TRUE(is_refused(response_iu("0100"), Direction::kNone, 0));
}

TEST(SrpManagementResponse, IsTheFourthByte) {
  const auto code = [](std::string_view flags, std::string_view length, std::string_view data) {
    return parse_management_response(
        response_iu(flags, "00000000", "00000000", "00000000", length, data));
  };
  EXPECT_EQ(code("0100", "00000004", "00000000").value(), ResponseCode::kDone);
  EXPECT_EQ(code("0100", "00000004", "00000005").value(), ResponseCode::kFailed);
  EXPECT_EQ(code("0100", "00000008", "0000000400000000").value(), ResponseCode::kNotSupported);
  EXPECT_EQ(code("0100", "00000004", "0000000500").value(), ResponseCode::kFailed)
      << "an IU may be longer than what it holds";
  EXPECT_FALSE(code("0000", "00000004", "00000000")) << "not valid";
  EXPECT_FALSE(code("0100", "00000003", "000000"));
  EXPECT_FALSE(code("0100", "00000000", ""));
  EXPECT_FALSE(code("0100", "00000004", "000000")) << "beyond the IU";
  EXPECT_FALSE(code("0100", "ffffffff", "00000000"));
}

}  // namespace
}  // namespace paravane::srp
