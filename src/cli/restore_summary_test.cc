#include "cli/restore_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace paravane::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

constexpr std::chrono::sys_seconds kMade = std::chrono::sys_days(std::chrono::year(2026) / 11 / 24);

model::BackupSummary backup_of_three() {
  return {.cluster = "0d3f",
          .host = "h1",
          .address = "10.77.0.1",
          .made_s = static_cast<std::uint64_t>(kMade.time_since_epoch().count()),
          .version = "0.2.0",
          .generation = 18,
          .members = {"h1", "h2", "h3"},
          .switches = 1,
          .port_groups = 2};
}

TEST(RestoreSummary, OfABackupSaysItsAgeAndNamesItsMembers) {
  const auto after = [](std::chrono::seconds age) {
    return print_backup_summary(backup_of_three(), kMade + age);
  };
  EXPECT_THAT(after(0s), AllOf(HasSubstr("made         2026-11-24 00:00:00 UTC by paravaned 0.2.0, "
                                         "0 minutes ago\n"),
                               HasSubstr("members      h1, h2, h3\n"),
                               HasSubstr("1, with 2 port groups"), Not(HasSubstr("It replaces"))));
  EXPECT_THAT(after(119min), HasSubstr("119 minutes ago"));
  EXPECT_THAT(after(47h), HasSubstr("47 hours ago"));
  EXPECT_THAT(after(24h * 40), HasSubstr("40 days ago"));
  EXPECT_THAT(after(-1h), HasSubstr("in the future according to this machine's clock"));
  model::BackupSummary backup = backup_of_three();
  backup.replaces = "host h1\x1b";
  EXPECT_THAT(print_backup_summary(backup, kMade), HasSubstr("It replaces host h1?.\n"));
}

TEST(RestoreSummary, OfABackupNamesTheHostsThatItWouldLetIn) {
  EXPECT_THAT(
      warn_of_members(backup_of_three()),
      AllOf(HasSubstr("Members according to this backup: h2, h3."),
            HasSubstr("becomes a member again"), HasSubstr("paravane cluster remove HOST")));
  model::BackupSummary alone = backup_of_three();
  alone.members = {"h1"};
  EXPECT_EQ(warn_of_members(alone), "");
}

model::AcceptSummary accept_of_five() {
  return {.cluster = "0d3f",
          .host = "h1",
          .generation = 18,
          .members = {"h1", "h2", "h3", "h4", "h5"},
          .switches = 1,
          .port_groups = 2,
          .others = {{.host = "h2", .generation = 19, .counts = true},
                     {.host = "h3", .generation = 17, .counts = true},
                     {.host = "h4", .problem = "the host does not answer: timed out"},
                     {.host = "h5", .generation = 9'000'000'000, .problem = "too far"}}};
}

TEST(RestoreSummary, OfAnAcceptanceSaysWhatEachHostFollowsAndWhatIsGone) {
  EXPECT_THAT(
      print_accept_summary(accept_of_five()),
      AllOf(HasSubstr("generation   18 of the configuration\n"),
            HasSubstr("members      h1, h2, h3, h4, h5\n"),
            HasSubstr("h2           generation 19\n"), HasSubstr("h3           generation 17\n"),
            HasSubstr("h4           the host does not answer: timed out\n"),
            HasSubstr("h5           generation 9000000000: too far\n"),
            HasSubstr("that host h1 does not have will be removed"),
            HasSubstr("becomes a member\nagain"),
            HasSubstr("may follow later, or refuse to follow: h4\n"),
            HasSubstr("will not follow: h5\n")));
  EXPECT_THAT(print_accept_summary({.cluster = "c", .host = "h1"}),
              AllOf(HasSubstr("no other host"), Not(HasSubstr("follow later"))));
}

TEST(RestoreSummary, AfterAnAcceptanceThoseThatFollowAreNamed) {
  const auto host = [](const char* name, std::uint64_t generation) {
    return model::ClusterHost{
        .name = name, .present = true, .address = "", .version = "", .generation = generation};
  };
  model::ClusterStatus status{.member = true, .generation = 1048600};
  status.hosts = {host("h1", 1048600), host("h2", 1048600), host("h3", 17)};
  EXPECT_FALSE(all_follow(accept_of_five(), status));
  EXPECT_THAT(print_followers(accept_of_five(), status),
              AllOf(HasSubstr("Hosts that follow: h2\n"),
                    HasSubstr("Hosts that do not follow yet: h3, h4, h5\n"),
                    HasSubstr("paravane cluster status")));
  status.hosts[2].generation = 1048600;
  EXPECT_TRUE(all_follow(accept_of_five(), status)) << "the others are not waited for";
  status.hosts[2].ahead = true;
  EXPECT_FALSE(all_follow(accept_of_five(), status)) << "of another history";
  status.hosts[2].ahead = false;
  status.hosts[1].present = false;
  EXPECT_FALSE(all_follow(accept_of_five(), status)) << "what it followed when it was there";
  model::AcceptSummary two = accept_of_five();
  two.others.resize(1);
  status.hosts[1].present = true;
  EXPECT_EQ(print_followers(two, status), "Hosts that follow: h2\n");
}

}  // namespace
}  // namespace paravane::cli
