#include "connection/reject_reason.h"

#include <gtest/gtest.h>

#include "wire/infiniband/communication.h"

namespace paravane::connection {
namespace {

namespace reject_reason = wire::infiniband::reject_reason;

TEST(RejectReasonTest, EachReasonHasACauseAndARemedy) {
  for (std::uint16_t reason = 0; reason < 64; ++reason) {
    const ReasonText text = text_of(reason);
    EXPECT_FALSE(text.cause.empty()) << reason;
    EXPECT_FALSE(text.remedy.empty()) << reason;
    EXPECT_FALSE(text.cause.ends_with('.') || text.remedy.ends_with('.')) << reason;
  }
  EXPECT_FALSE(text_of(0xFFFF).cause.empty());
}

TEST(RejectReasonTest, Sentences) {
  EXPECT_EQ(sentence_of(reject_reason::kInvalidServiceId),
            "no SRP target listens there at this service ID (reject reason 8): check that the "
            "target is running and enabled, and that the service ID is the one that it shows");
  EXPECT_NE(text_of(reject_reason::kStaleConnection).cause, text_of(0).cause);
  EXPECT_NE(text_of(reject_reason::kInvalidGid).cause, text_of(0).cause);
  EXPECT_EQ(text_of(reject_reason::kNoReliableDomain).cause, text_of(0).cause);
}

}  // namespace
}  // namespace paravane::connection
