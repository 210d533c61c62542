// The line between the two processes.

#include "privsep/process_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

namespace paravane::privsep {
namespace {

using testing::HasSubstr;

class ProcessLinkTest : public testing::Test {
 protected:
  void SetUp() override {
    auto ends = ProcessLink::make();
    ASSERT_TRUE(ends);
    near_.emplace(std::move(ends->first));
    far_.emplace(std::move(ends->second));
  }
  std::optional<ProcessLink> near_;
  std::optional<ProcessLink> far_;
};

TEST_F(ProcessLinkTest, CarriesNotesBothWays) {
  near_->send({.kind = Note::Kind::kStatus, .text = "3 VMs"});
  far_->send({.kind = Note::Kind::kLogLevel, .text = "debug"});
  const auto status = far_->receive();
  const auto level = near_->receive();
  ASSERT_TRUE(status && *status && level && *level);
  EXPECT_EQ((*status)->kind, Note::Kind::kStatus);
  EXPECT_EQ((*status)->text, "3 VMs");
  EXPECT_EQ((*level)->text, "debug");
  EXPECT_EQ(*far_->receive(), std::nullopt);
}

TEST_F(ProcessLinkTest, LetsNoLineBreakIntoWhatTheServiceManagerReads) {
  near_->send({.kind = Note::Kind::kReady, .text = "1 VM\nMAINPID=1\x7f\x80"});
  EXPECT_EQ((*far_->receive())->text, "1 VM?MAINPID=1??");
}

TEST_F(ProcessLinkTest, CutsWhatIsLong) {
  near_->send({.kind = Note::Kind::kStatus, .text = std::string(100'000, 'x')});
  EXPECT_EQ((*far_->receive())->text.size(), Note::kMaxText);
}

TEST_F(ProcessLinkTest, TakesAnythingElseForNoNote) {
  const std::vector<std::string> junks = {std::string(1, '\0'), "\xff\xff", std::string(4096, 'j')};
  for (const std::string& junk : junks) {
    ASSERT_EQ(::send(near_->fd(), junk.data(), junk.size(), 0), static_cast<ssize_t>(junk.size()));
    const auto note = far_->receive();
    ASSERT_TRUE(note && *note);
    EXPECT_EQ((*note)->kind, Note::Kind::kNone);
  }
}

TEST_F(ProcessLinkTest, NeverWaitsForAReader) {
  for (int i = 0; i < 10'000; ++i) near_->send({.kind = Note::Kind::kStatus, .text = "again"});
  EXPECT_TRUE(far_->receive());
}

TEST_F(ProcessLinkTest, SaysThatTheOtherSideIsGone) {
  near_->close();
  EXPECT_FALSE(far_->receive());
  far_->send({.kind = Note::Kind::kStopping, .text = {}});  // no signal, no error
}

}  // namespace
}  // namespace paravane::privsep
