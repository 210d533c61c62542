#include "keeper/etcd_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "testing/log_capture.h"

namespace paravane::keeper {
namespace {

using testing::HasSubstr;
using testing::Not;

class EtcdLogTest : public testing::Test {
 protected:
  void etcd_writes(std::string_view text) {
    ASSERT_EQ(::write(etcd_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ASSERT_TRUE(loop_->poll(Duration::zero()));
  }

  const LogCapture log_;
  std::unique_ptr<EventLoop> loop_ = *EventLoop::create();
  Instant now_{std::chrono::hours(1)};
  std::optional<EtcdLog> heard_{std::in_place, *loop_, [this] { return now_; }};
  UniqueFd etcd_ = *heard_->open();
};

TEST_F(EtcdLogTest, PassesLinesOn) {
  etcd_writes("no space left on device\n");
  EXPECT_THAT(log_.text(), HasSubstr("etcd: no space left on device\n"));
}

TEST_F(EtcdLogTest, PutsPiecesOfALineTogether) {
  etcd_writes("no space left ");
  EXPECT_EQ(log_.lines(), 0u);
  etcd_writes("on device\nand");
  EXPECT_THAT(log_.text(), HasSubstr("etcd: no space left on device\n"));
  EXPECT_EQ(log_.lines(), 1u);
}

TEST_F(EtcdLogTest, KeepsBackWhatIsTooMuch) {
  for (int i = 0; i < 1000; ++i) etcd_writes("grpc: addrConn.createTransport failed\n");
  EXPECT_EQ(log_.lines(), EtcdLog::kLines);
  now_ += std::chrono::seconds(10);
  etcd_writes("another\n");
  EXPECT_THAT(log_.text(), HasSubstr("etcd: another (995 lines suppressed)\n"));
}

TEST_F(EtcdLogTest, CutsLongLines) {
  etcd_writes(std::string(EtcdLog::kLongest + 1, 'x') + "tail\nnext\n");
  EXPECT_THAT(log_.text(), HasSubstr(std::string(EtcdLog::kLongest, 'x') + " (cut)\n"));
  EXPECT_THAT(log_.text(), Not(HasSubstr("tail")));
  EXPECT_THAT(log_.text(), HasSubstr("etcd: next\n"));
}

TEST_F(EtcdLogTest, PrintsNoControlCharacters) {
  etcd_writes(
      "a\x1b[2Jb\xe2\x80\xae"
      "c\n");
  EXPECT_THAT(log_.text(), HasSubstr("etcd: a?[2Jb???c\n"));
}

TEST_F(EtcdLogTest, HearsTheLastWordsOfAnEtcdThatEnds) {
  ASSERT_EQ(::write(etcd_.get(), "panic", 5), 5);
  etcd_.reset();
  heard_.reset();
  EXPECT_THAT(log_.text(), HasSubstr("etcd: panic\n"));
}

TEST_F(EtcdLogTest, GoesOnInAnotherProcess) {
  etcd_writes("no space left ");
  const int ours = heard_->pass_on();
  ASSERT_GE(ours, 0);
  EXPECT_THAT(log_.text(), HasSubstr("etcd: no space left \n"));
  EtcdLog other(*loop_, [this] { return now_; });
  other.go_on(UniqueFd(::dup(ours)));
  heard_.reset();
  etcd_writes("on device\n");
  EXPECT_THAT(log_.text(), HasSubstr("etcd: on device\n"));
  EXPECT_EQ(EtcdLog(*loop_).pass_on(), -1);
}

TEST_F(EtcdLogTest, RestsWhenNobodyWrites) {
  etcd_.reset();
  EXPECT_EQ(*loop_->poll(Duration::zero()), 1);
  EXPECT_EQ(*loop_->poll(Duration::zero()), 0) << "the loop would spin";
}

}  // namespace
}  // namespace paravane::keeper
