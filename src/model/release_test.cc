#include "model/release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/version.h"

namespace paravane::model {
namespace {

using testing::Contains;
using testing::IsEmpty;

TEST(Release, VersionsAreNumbersNotTexts) {
  EXPECT_TRUE(is_older_version("0.1.0", "0.2.0"));
  EXPECT_TRUE(is_older_version("0.2.0", "0.10.0"));
  EXPECT_TRUE(is_older_version("0.99.99", "1.0.0"));
  EXPECT_FALSE(is_older_version("0.2.0", "0.2.0"));
  EXPECT_FALSE(is_older_version("0.3.0", "0.2.9"));
}

TEST(Release, WhatIsNoVersionIsNeverOlder) {
  for (const char* text : {"", "0.1", "0.1.0.0", "0.1.0-rc1", "-1.0.0", " 0.1.0", "0..1", "a.b.c",
                           "99999999999.0.0", "0.1."}) {
    EXPECT_FALSE(is_older_version(text, "0.2.0")) << text;
    EXPECT_FALSE(is_older_version("0.0.1", text)) << text;
    EXPECT_THAT(lacked_by(text), IsEmpty()) << text;
  }
}

TEST(Release, AnOlderOneLacksWhatCameLater) {
  EXPECT_THAT(lacked_by("0.1.0"), Contains("members identified by their keys"));
  EXPECT_THAT(lacked_by("0.2.0"), IsEmpty());
  EXPECT_THAT(lacked_by(kVersion), IsEmpty());  // nothing came with a release that is to come
}

TEST(Release, AnswersProbesOfRoutersSinceTheFirstWithThem) {
  EXPECT_FALSE(answers_probes("0.2.0"));
  EXPECT_TRUE(answers_probes("0.3.0"));
  EXPECT_TRUE(answers_probes(kVersion));
  EXPECT_TRUE(answers_probes("a build")) << "what is not known is no reason";
}

}  // namespace
}  // namespace paravane::model
