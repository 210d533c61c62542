#include "cluster/door_round.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

namespace paravane::cluster {
namespace {

TEST(DoorRound, AnswersComeInOrderAndNotTooManyAreAskedAtOnce) {
  std::vector<HostDoor> doors;
  for (int i = 0; i < 70; ++i) doors.push_back({.host = "h" + std::to_string(i), .door = "d"});
  std::atomic<std::size_t> now{0};
  std::atomic<std::size_t> most{0};
  const auto answers = ask_doors(doors, [&](const HostDoor& at) -> Result<authority::DoorAnswer> {
    const std::size_t asked = ++now;
    std::size_t before = most;
    while (before < asked && !most.compare_exchange_weak(before, asked)) {
    }
    authority::DoorAnswer answer;
    answer.host = at.host;
    --now;
    if (at.host == "h3") return fail(Errc::kIo, "off");
    return answer;
  });
  ASSERT_EQ(answers.size(), doors.size());
  for (std::size_t i = 0; i < doors.size(); ++i) {
    if (i == 3) {
      EXPECT_FALSE(answers[i].has_value());
    } else {
      ASSERT_TRUE(answers[i].has_value());
      EXPECT_EQ(answers[i]->host, doors[i].host);
    }
  }
  EXPECT_LE(most, kDoorsAtATime);
}

}  // namespace
}  // namespace paravane::cluster
