#include "srp/login.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "scsi/text.h"
#include "testing/fake_srp_target.h"
#include "testing/hex_bytes.h"

namespace paravane::srp {
namespace {

using scsi::hex_text;
using testing::HasSubstr;

LoginAsk ask() {
  return {.tag = 0x1122'3344'5566'7788,
          .initiator = port_id(0xFE80'0000'0000'0000, 0x0250'5600'01A2'B301),
          .target = target_port_id(0xA1, 0xB2, wire::srp::kIoClassR16a),
          .iu_bytes = 0x200};
}

std::vector<std::byte> answer_with(const std::function<void(wire::srp::LoginResponse&)>& change) {
  wire::srp::LoginResponse response;
  response.tag.set(ask().tag);
  response.request_limit_delta.set(128);
  response.most_initiator_iu_bytes.set(0x200);
  response.most_target_iu_bytes.set(0x200);
  response.formats.set(6);
  change(response);
  const auto bytes = std::as_bytes(std::span(&response, 1));
  return {bytes.begin(), bytes.end()};
}
std::string refusal_of(const std::function<void(wire::srp::LoginResponse&)>& change) {
  const auto terms = parse_login_response(answer_with(change), ask());
  return terms ? "" : terms.error().message;
}

TEST(SrpPortIds, HaveTheirHalvesInTheOrderOfTheRevision) {
  EXPECT_EQ(to_string(target_port_id(1, 2, wire::srp::kIoClassR16a)),
            "0x00000000000000010000000000000002");
  EXPECT_EQ(to_string(target_port_id(1, 2, wire::srp::kIoClassR10)),
            "0x00000000000000020000000000000001");
  EXPECT_EQ(to_string(ask().initiator), "0xfe800000000000000250560001a2b301");
}

TEST(SrpLogin, ForInfinibandsConnectionManager) {
  EXPECT_EQ(hex_text(login_request(ask())),
            "0000000000000000"
            "1122334455667788"
            "0000020000000000"
            "0002000000000000"
            "fe800000000000000250560001a2b301"
            "00000000000000a100000000000000b2");
}

TEST(SrpLogin, ForRdmasConnectionManager) {
  EXPECT_EQ(hex_text(rdma_login_request(ask())),
            "1122334455667788"
            "0002000000000200"
            "fe800000000000000250560001a2b301"
            "00000000000000a100000000000000b2"
            "0000000000000000");
}

// As LIO answers.
TEST(SrpLogin, IsGranted) {
  auto bytes = fake::hex_bytes(
      "c0000000 00000080 1122334455667788 00000200 00000200 0006 00"
      "00000000000000000000000000000000000000000000000000");
  ASSERT_EQ(bytes.size(), 52u);
  const LoginTerms expected{
      .request_limit = 128, .most_initiator_iu_bytes = 0x200, .most_target_iu_bytes = 0x200};
  auto terms = parse_login_response(bytes, ask());
  ASSERT_TRUE(terms) << terms.error().message;
  EXPECT_EQ(*terms, expected);
  bytes.resize(196);
  EXPECT_EQ(*parse_login_response(bytes, ask()), expected) << "private data ends in zeros";
  bytes[26] = std::byte{0x81};
  EXPECT_TRUE(parse_login_response(bytes, ask())->ended_others)
      << "and flags of SRP2 do not matter";
}

TEST(SrpLogin, IsRefusedForAnAnswerThatIsNone) {
  const auto bytes = answer_with([](auto&) {});
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parse_login_response(std::span(bytes).first(size), ask())) << size;
  EXPECT_THAT(refusal_of([](auto& r) { r.opcode = 0xC1; }), HasSubstr("0xc1"));
  EXPECT_THAT(refusal_of([](auto& r) { r.opcode = 0xC2; }), HasSubstr("0xc2"));
  EXPECT_THAT(refusal_of([](auto& r) { r.tag.set(1); }), HasSubstr("tag 0x1"));
}

TEST(SrpLogin, IsRefusedForLengthsThatCannotBe) {
  EXPECT_NE(refusal_of([](auto& r) { r.most_initiator_iu_bytes.set(63); }), "");
  EXPECT_NE(refusal_of([](auto& r) { r.most_target_iu_bytes.set(63); }), "");
  EXPECT_NE(refusal_of([](auto& r) { r.most_target_iu_bytes.set(kMostTargetIuBytes + 1); }), "");
  EXPECT_NE(refusal_of([](auto& r) { r.most_target_iu_bytes.set(0xFFFF'FFFF); }), "");
  EXPECT_EQ(refusal_of([](auto& r) {
              r.most_initiator_iu_bytes.set(64);
              r.most_target_iu_bytes.set(64);
            }),
            "");
  EXPECT_EQ(refusal_of([](auto& r) { r.most_initiator_iu_bytes.set(0xFFFF'FFFF); }), "")
      << "what the target takes costs us nothing";
}

TEST(SrpLogin, IsRefusedForNoCreditsAndTooMany) {
  EXPECT_NE(refusal_of([](auto& r) { r.request_limit_delta.set(0); }), "");
  EXPECT_NE(refusal_of([](auto& r) { r.request_limit_delta.set(65537); }), "");
  EXPECT_THAT(refusal_of([](auto& r) { r.request_limit_delta.set(0xFFFF'FFFF); }), HasSubstr("-1"));
  EXPECT_EQ(refusal_of([](auto& r) { r.request_limit_delta.set(1); }), "");
  EXPECT_EQ(refusal_of([](auto& r) { r.request_limit_delta.set(65536); }), "");
}

TEST(SrpLogin, IsRefusedWithoutDirectDescriptorsOrForOtherChannels) {
  EXPECT_THAT(refusal_of([](auto& r) { r.formats.set(4); }), HasSubstr("direct"));
  EXPECT_EQ(refusal_of([](auto& r) { r.formats.set(2); }), "");
  EXPECT_THAT(refusal_of([](auto& r) { r.flags = 2; }), HasSubstr("result 2"));
  EXPECT_THAT(refusal_of([](auto& r) { r.flags = 3; }), HasSubstr("result 3"));
}

TEST(SrpLogin, AtTheFakeTargetWorksInBothForms) {
  fake::FakeRemoteMemory memory;
  fake::FakeSrpTarget target(memory, [](auto) {});
  const auto by_infiniband = parse_login_response(target.log_in(login_request(ask())), ask());
  ASSERT_TRUE(by_infiniband) << by_infiniband.error().message;
  EXPECT_EQ(by_infiniband->most_target_iu_bytes, 0x200u);
  EXPECT_EQ(parse_login_response(target.log_in(rdma_login_request(ask())), ask()).value(),
            *by_infiniband);
  EXPECT_EQ(parse_login_reject(target.reject(rdma_login_request(ask()), 0x0001'0003), ask())
                .value()
                .reason,
            0x0001'0003u);
}

TEST(SrpLogin, IsRejectedWithARemedy) {
  const auto rejection = parse_login_reject(
      fake::hex_bytes("c2000000 00010006 1122334455667788 0000000000000000 0006 000000000000"),
      ask());
  ASSERT_TRUE(rejection) << rejection.error().message;
  EXPECT_EQ(rejection->reason, 0x0001'0006u);
  EXPECT_THAT(rejection->sentence, HasSubstr("Add 0xfe800000000000000250560001a2b301 to"))
      << "LIO says so of an initiator without an access list entry, too";
  for (std::uint32_t reason = 0x0001'0000; reason <= 0x0001'0006; ++reason)
    EXPECT_THAT(rejection_sentence(reason, {}), testing::Not(HasSubstr("does not define")))
        << reason;
  EXPECT_THAT(rejection_sentence(0x0001'0007, {}), HasSubstr("0x00010007"));
  EXPECT_THAT(rejection_sentence(0, {}), HasSubstr("does not define"));
}

TEST(SrpLogin, IsNotRejectedByAnAnswerThatIsNone) {
  const auto bytes =
      fake::hex_bytes("c2000000 00010006 1122334455667788 0000000000000000 0006 000000000000");
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parse_login_reject(std::span(bytes).first(size), ask())) << size;
  auto other = bytes;
  other[0] = std::byte{0xC0};
  EXPECT_FALSE(parse_login_reject(other, ask()));
  other = bytes;
  other[15] = std::byte{0};
  EXPECT_FALSE(parse_login_reject(other, ask())) << "of another login";
}

}  // namespace
}  // namespace paravane::srp
