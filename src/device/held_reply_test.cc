#include "device/held_reply.h"

#include <gtest/gtest.h>

#include <vector>

namespace paravane::device {
namespace {

using vfio_user::ReplyToken;

class HeldReplyTest : public testing::Test {
 protected:
  HeldReplyTest() {
    reply.set_answer([this](ReplyToken token) { answered.push_back(token); });
  }
  HeldReply reply;
  std::vector<ReplyToken> answered;
  const Instant start = Instant{} + std::chrono::seconds(1);
};

TEST_F(HeldReplyTest, GoesOutWhenTheCommandHasEnded) {
  reply.hold(ReplyToken{7}, start);
  reply.poll(true, start);
  EXPECT_TRUE(answered.empty());
  reply.poll(false, start);
  EXPECT_EQ(answered, std::vector{ReplyToken{7}});
}

TEST_F(HeldReplyTest, GoesOutOnceAndOnlyWhenThereIsOne) {
  reply.poll(false, start);
  reply.release();
  reply.hold(ReplyToken{7}, start);
  reply.release();
  reply.poll(false, start);
  reply.release();
  EXPECT_EQ(answered, std::vector{ReplyToken{7}});
}

TEST_F(HeldReplyTest, IsNotHeldLongerThanTheBound) {
  reply.hold(ReplyToken{7}, start);
  reply.poll(true, start + HeldReply::kLongest - Duration(1));
  EXPECT_TRUE(answered.empty());
  reply.poll(true, start + HeldReply::kLongest);
  EXPECT_EQ(answered, std::vector{ReplyToken{7}});
}

}  // namespace
}  // namespace paravane::device
