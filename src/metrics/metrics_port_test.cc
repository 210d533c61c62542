#include "metrics/metrics_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <vector>

namespace paravane::metrics {
namespace {

using namespace std::chrono_literals;

struct NobodyAsks : api::RequestHandler {
  api::ApiResponse handle(const api::ApiRequest& /*request*/) override { return {}; }
};

// A keeper who answers what the test says.
class MetricsPortTest : public testing::Test {
 protected:
  // The times from the start at which the keeper is asked until `end`, if it always refuses.
  std::vector<Duration> tries_until(Duration end) {
    std::vector<Duration> tries;
    while (port_.next_try() <= start_ + end) {
      const Instant now = std::max(port_.next_try(), start_);
      port_.try_if_due(now);
      tries.push_back(now - start_);
      refuse();
    }
    return tries;
  }
  void refuse() {
    const Error error{.code = Errc::kIo, .message = "no such address"};
    dialer_.on_answer(privsep::Dialer::refusal(std::to_string(asked_.size()), error), {});
  }
  void grant() {
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr any{.sa_family = AF_UNIX, .sa_data = {}};  // an abstract name of its own
    ASSERT_EQ(::bind(socket.get(), &any, sizeof any.sa_family), 0);
    ASSERT_EQ(::listen(socket.get(), 1), 0);
    dialer_.on_answer(std::to_string(asked_.size()), std::move(socket));
  }
  ~MetricsPortTest() override { port_.close(); }

  const Instant start_{Duration(1h)};
  std::vector<privsep::Note> asked_;
  NobodyAsks handler_;
  privsep::Dialer dialer_{[this](const privsep::Note& note) { asked_.push_back(note); }};
  MetricsPort port_{"192.0.2.1:9719", dialer_, handler_};
};

TEST_F(MetricsPortTest, IsTriedAtOnceAndThenLessAndLessOften) {
  EXPECT_THAT(tries_until(4min), testing::ElementsAre(0s, 1s, 3s, 7s, 15s, 31s, 63s, 123s, 183s));
  EXPECT_EQ(asked_[0].kind, privsep::Note::Kind::kListen);
  EXPECT_EQ(asked_[0].text, "1 192.0.2.1:9719");
}

TEST_F(MetricsPortTest, IsOpenWhenTheAddressIsThere) {
  tries_until(5s);
  EXPECT_FALSE(port_.is_open());
  port_.try_if_due(start_ + 7s);
  grant();
  EXPECT_TRUE(port_.is_open());
  EXPECT_EQ(port_.next_try(), kNever);
}

TEST_F(MetricsPortTest, IsTriedAgainThoughTheKeeperNeverAnswered) {
  port_.try_if_due(start_);
  EXPECT_EQ(port_.next_try(), start_ + 1s);
}

TEST_F(MetricsPortTest, ThatIsClosedTakesNoSocket) {
  port_.try_if_due(start_);
  port_.close();
  grant();
  EXPECT_FALSE(port_.is_open());
  EXPECT_EQ(port_.next_try(), kNever);
}

TEST_F(MetricsPortTest, WithoutAnAddressNobodyIsAsked) {
  MetricsPort none("", dialer_, handler_);
  none.try_if_due(start_);
  EXPECT_EQ(none.next_try(), kNever);
  EXPECT_TRUE(asked_.empty());
}

}  // namespace
}  // namespace paravane::metrics
