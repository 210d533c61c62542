#include "metrics/qp_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace paravane::metrics {
namespace {

using namespace std::chrono_literals;
using model::QpStats;
using testing::ElementsAre;
using testing::IsEmpty;

model::QpStats qp(std::uint32_t number, std::uint64_t bytes) {
  model::QpStats one;
  one.number = number;
  one.sent_bytes = bytes;
  return one;
}

std::vector<std::uint32_t> shown(const QpSeries& series) {
  std::vector<std::uint32_t> numbers;
  for (const model::QpStats& one : series.shown()) numbers.push_back(one.number);
  return numbers;
}

TEST(QpSeries, TheBusiestGetPlacesAndKeepThem) {
  QpSeries series(2);
  series.look({qp(1, 10), qp(2, 30), qp(3, 20), qp(4, 0)}, Instant{});
  EXPECT_THAT(shown(series), ElementsAre(2, 3));
  EXPECT_EQ(series.other().sent_bytes, 10u);
  EXPECT_EQ(series.other_count(), 1u);  // who has carried nothing is not counted
  series.look({qp(1, 1000), qp(2, 30), qp(3, 20)}, Instant{});
  EXPECT_THAT(shown(series), ElementsAre(2, 3));
  EXPECT_EQ(series.other().sent_bytes, 1000u);
}

TEST(QpSeries, TheSumOfOthersNeverGoesBack) {
  QpSeries series(0);
  series.look({qp(1, 10), qp(2, 5)}, Instant{});
  series.look({qp(1, 12)}, Instant{});
  EXPECT_EQ(series.other().sent_bytes, 17u);
  series.look({}, Instant{});
  EXPECT_EQ(series.other().sent_bytes, 17u);
  series.look({qp(1, 3)}, Instant{});  // another of that number
  EXPECT_EQ(series.other().sent_bytes, 20u);
}

TEST(QpSeries, APlaceRestsBeforeItIsGivenAgain) {
  QpSeries series(1);
  series.look({qp(1, 10)}, Instant{});
  series.look({qp(2, 10)}, Instant{} + 1s);
  EXPECT_THAT(shown(series), IsEmpty());
  series.look({qp(2, 20), qp(3, 5)}, Instant{} + 1min + 1s);
  EXPECT_THAT(shown(series), ElementsAre(3));  // 2 is counted with the others already
  EXPECT_EQ(series.other().sent_bytes, 20u);
}

// A guest that connects one queue pair to another peer before each look.
TEST(QpSeries, OneThatIsConnectedAnewAllTheTimeIsShownAnewOnceAMinute) {
  QpSeries series(1);
  std::set<std::string> peers;
  const auto look = [&series, &peers](Instant now, const std::string& peer) {
    model::QpStats one = qp(1, 10);
    one.peer_gid = peer;
    series.look({one}, now);
    peers.insert(series.shown().front().peer_gid);
  };
  for (int i = 0; i < 60; ++i) look(Instant{} + i * 1s, std::to_string(i));
  EXPECT_THAT(peers, ElementsAre("0"));
  look(Instant{} + 1min, "60");
  look(Instant{} + 1min + 1s, "61");
  EXPECT_THAT(peers, ElementsAre("0", "60"));
}

}  // namespace
}  // namespace paravane::metrics
