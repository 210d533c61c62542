#include "srp/logout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace paravane::srp {
namespace {

using testing::HasSubstr;

TEST(SrpLogout, HasWordsForEachReason) {
  std::set<std::string> sentences;
  for (const std::uint32_t reason : {0u, 1u, 2u, 3u, 4u, 6u, 7u, 8u}) {
    EXPECT_THAT(logout_sentence(reason), testing::Not(HasSubstr("does not define"))) << reason;
    sentences.insert(logout_sentence(reason));
  }
  EXPECT_EQ(sentences.size(), 8u);
  EXPECT_EQ(logout_sentence(4),
            "the target has ended the session: the initiator has logged in anew (0x4)");
  EXPECT_THAT(logout_sentence(0xFFFF'FFFF), HasSubstr("does not define (0xffffffff)"));
}

}  // namespace
}  // namespace paravane::srp
