#include "subnet/notices_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "subnet/notices.h"
#include "testing/edited_state.h"

namespace paravane::subnet {
namespace {

using namespace std::chrono_literals;
namespace trap = wire::infiniband::trap;
using testing::HasSubstr;
using wire::infiniband::NodeType;
using wire::infiniband::NoticeType;

class NoticesImageTest : public testing::Test {
 protected:
  static wire::infiniband::Notice notice(std::uint16_t number) {
    return notice_of(number, NoticeType::kUrgent, NodeType::kSwitch);
  }
  static std::string refusal(const NoticesImage& image) {
    state::Writer out;
    save(image, out);
    const StateBytes bytes = out.take();
    state::Loading loading;
    state::Reader in(bytes, loading);
    (void)load_notices_image(in);
    return loading.good() ? "" : loading.status().error().message;
  }
  static constexpr Instant kNow{1000s};
};

TEST_F(NoticesImageTest, WhatWaitsIsToldAgainWithItsTransaction) {
  Notices before;
  before.tell(notice(trap::kLinkStateChanged), kNow);
  before.tell(notice(trap::kCapabilityChanged), kNow);
  before.repress(1);
  Notices after;
  after.adopt(before.image(), kNow + 1s);
  const auto due = after.take_due(kNow + 1s);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].transaction, 2u);
  EXPECT_EQ(due[0].notice.trap.get(), trap::kCapabilityChanged);
  after.repress(2);
  EXPECT_TRUE(after.empty());
  // Which no earlier one had.
  after.tell(notice(trap::kLinkStateChanged), kNow + 2s);
  EXPECT_EQ(after.image().waiting[0].transaction, 3u);
}

TEST_F(NoticesImageTest, WhatNoNodeOfOursTellsIsRefused) {
  NoticesImage good{.waiting = {{.transaction = 1, .notice = notice(trap::kBadQkey)}},
                    .next_transaction = 2};
  EXPECT_EQ(refusal(good), "");
  NoticesImage bad = good;
  bad.waiting[0].notice.trap.set(64);
  EXPECT_THAT(refusal(bad), HasSubstr("not told"));
  bad = good;
  bad.waiting[0].notice.generic_type = 1;
  EXPECT_THAT(refusal(bad), HasSubstr("not told"));
  bad = good;
  bad.waiting[0].transaction = 2;
  EXPECT_THAT(refusal(bad), HasSubstr("not told"));
  bad.waiting[0].transaction = 0;
  EXPECT_THAT(refusal(bad), HasSubstr("not told"));
  bad = good;
  bad.waiting.resize(NoticesImage::kMost + 1, good.waiting[0]);
  EXPECT_NE(refusal(bad), "");
  bad = good;
  bad.next_transaction = 0;
  EXPECT_NE(refusal(bad), "");
}

}  // namespace
}  // namespace paravane::subnet
