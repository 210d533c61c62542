#include "cluster/cluster_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::cluster {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

ClusterPicture picture_with(std::size_t lost, std::size_t oversized) {
  auto view = std::make_shared<inventory::View>();
  for (std::size_t i = 0; i < lost; ++i) {
    view->lost.push_back({.host = "h2", .key = "gids/" + std::to_string(i), .reason = "taken"});
  }
  for (std::size_t i = 0; i < oversized; ++i) {
    view->oversized_hosts.push_back("h" + std::to_string(i));
  }
  ClusterPicture picture;
  picture.self = authority::Identity{"00112233445566778899aabbccddeeff", "h1"};
  picture.view = std::move(view);
  return picture;
}

TEST(ClusterPicture, NamesWhatDoesNotCount) {
  const auto status = describe(picture_with(2, 1), settings::Config());
  EXPECT_THAT(status.lost,
              testing::ElementsAre("all keys of host h0: the host has too many keys",
                                   "gids/0 of host h2: taken", "gids/1 of host h2: taken"));
}

TEST(ClusterPicture, NoTimeIsLeftOfACertificateThatIsNotInForce) {
  const auto certificate = [](std::chrono::hours from, std::chrono::hours until) {
    ClusterPicture picture = picture_with(0, 0);
    const authority::Seconds now = authority::wall_clock();
    picture.certificate = {.from = now + from, .until = now + until};
    return describe(picture, settings::Config());
  };
  using std::chrono::hours;
  EXPECT_GT(certificate(-hours(1), hours(1)).certificate_left_s, 3000u);
  EXPECT_EQ(certificate(-hours(1), hours(1)).certificate_problem, "");
  EXPECT_EQ(certificate(hours(1), hours(90)).certificate_left_s, 0u);
  EXPECT_THAT(certificate(hours(1), hours(90)).certificate_problem, HasSubstr("not valid before"));
  EXPECT_EQ(certificate(-hours(90), -hours(1)).certificate_left_s, 0u);
  EXPECT_THAT(certificate(-hours(90), -hours(1)).certificate_problem,
              HasSubstr("the certificate expired on"));
}

TEST(ClusterPicture, ListsTheAdaptersOfAllHosts) {
  auto view = std::make_shared<inventory::View>();
  view->hosts["h2"].adapters[{"db1", 1}] = {.mac = *model::parse_mac("02:50:56:00:00:01"),
                                            .port_group = "rdma"};
  view->hosts["h1"].adapters[{"db9", 1}] = {};
  ClusterPicture picture = picture_with(0, 0);
  picture.view = std::move(view);
  EXPECT_THAT(
      list_adapters(picture),
      testing::ElementsAre(model::ClusterAdapter{.host = "h1", .adapter = {"db9", 1}},
                           model::ClusterAdapter{.host = "h2",
                                                 .adapter = {"db1", 1},
                                                 .mac = *model::parse_mac("02:50:56:00:00:01"),
                                                 .port_group = "rdma"}));
  picture.view = nullptr;
  EXPECT_THAT(list_adapters(picture), testing::IsEmpty());
}

TEST(ClusterPicture, SaysWhichHostsHaveSeenWhatThisOneHasNot) {
  const std::string mark(16, 'a');
  const auto is_ahead = [&mark](std::uint64_t number, const std::string& their_mark) {
    auto view = std::make_shared<inventory::View>();
    view->generation = {.number = 9, .marks = {std::string(16, '0'), mark}};
    view->hosts["h2"].info.emplace().generation = number;
    view->hosts["h2"].info->mark = their_mark;
    ClusterPicture picture = picture_with(0, 0);
    picture.view = std::move(view);
    return describe(picture, settings::Config()).hosts.at(0).ahead;
  };
  EXPECT_FALSE(is_ahead(9, mark));
  EXPECT_FALSE(is_ahead(8, std::string(16, '0')));
  EXPECT_TRUE(is_ahead(10, std::string(16, 'b')));
  EXPECT_TRUE(is_ahead(9, std::string(16, 'b'))) << "as many changes, but others";
  EXPECT_FALSE(is_ahead(9, "")) << "of an older version";
  EXPECT_TRUE(is_ahead(10, ""));
}

TEST(ClusterPicture, SaysWhichHostsAreKnownByTheirNameAlone) {
  const auto by_name = [](const inventory::MemberRecords& members) {
    auto view = std::make_shared<inventory::View>();
    view->members = members;
    for (const char* host : {"h1", "h2"}) view->hosts[host].info.emplace();
    ClusterPicture picture = picture_with(0, 0);
    picture.view = std::move(view);
    std::vector<std::string> names;
    for (const auto& host : describe(picture, settings::Config()).hosts) {
      if (host.by_name) names.push_back(host.name);
    }
    return names;
  };
  const std::string key(64, 'a');
  EXPECT_THAT(by_name({{"h1", {key, {key}}}, {"h2", {key, {key}}}}), testing::IsEmpty());
  EXPECT_THAT(by_name({{"h1", {key, {key}}}, {"h2", {"", {}}}}), testing::ElementsAre("h2"));
  EXPECT_THAT(by_name({{"h1", {key, {key}}}, {"h3", {"", {}}}}), testing::ElementsAre("h3"))
      << "though it is away";
  EXPECT_THAT(by_name({{"h1", {key, {key}}}}), testing::IsEmpty()) << "h2 is no member";
  EXPECT_THAT(by_name({}), testing::ElementsAre("h1", "h2"));
}

TEST(ClusterPicture, ListsAMemberThatIsAwayOnEveryHost) {
  const std::string key(64, 'a');
  auto view = std::make_shared<inventory::View>();
  view->members = {{"h1", {key, {key}}}, {"h2", {key, {key}}}};
  view->hosts["h1"].info.emplace();
  ClusterPicture picture = picture_with(0, 0);
  picture.view = std::move(view);
  const auto hosts = describe(picture, settings::Config()).hosts;
  ASSERT_THAT(hosts, SizeIs(2));
  EXPECT_TRUE(hosts[0].present);
  EXPECT_EQ(hosts[1].name, "h2");
  EXPECT_FALSE(hosts[1].present);
}

// One host can make many thousand of them.
TEST(ClusterPicture, NamesSoManyClaimsAndSaysHowManyMoreThereAre) {
  EXPECT_THAT(describe(picture_with(100, 0), settings::Config()).lost, SizeIs(100));
  const auto status = describe(picture_with(16'000, 2), settings::Config());
  ASSERT_THAT(status.lost, SizeIs(103));
  EXPECT_EQ(status.lost[0], "all keys of host h0: the host has too many keys");
  EXPECT_THAT(status.lost[101], HasSubstr("gids/99 of host h2"));
  EXPECT_EQ(status.lost[102], "15900 more claims");
}

}  // namespace
}  // namespace paravane::cluster
