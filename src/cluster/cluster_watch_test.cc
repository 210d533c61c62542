#include "cluster/cluster_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::cluster {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> types(const std::vector<model::Event>& events) {
  std::vector<std::string> result;
  for (const model::Event& event : events) {
    result.push_back(event.type + " " + event.fields.at("host"));
  }
  return result;
}

constexpr Instant kNow = Instant{} + 1h;

inventory::View view_of(std::initializer_list<const char*> present) {
  inventory::View view;
  for (const char* host : present) view.hosts[host].info.emplace();
  return view;
}

TEST(ClusterWatch, TellsOfThisHostAndOfOthersThatComeAndGo) {
  ClusterWatch watch;
  EXPECT_THAT(watch.look("", nullptr, kNow), IsEmpty());
  const auto first = view_of({"h1", "h2"});
  EXPECT_THAT(types(watch.look("h1", &first, kNow)), ElementsAre("cluster.member h1"));
  const auto more = view_of({"h1", "h2", "h3"});
  EXPECT_THAT(types(watch.look("h1", &more, kNow)), ElementsAre("cluster.host_joined h3"));
  const auto fewer = view_of({"h1", "h3"});
  EXPECT_THAT(types(watch.look("h1", &fewer, kNow)), ElementsAre("cluster.host_away h2"));
  EXPECT_THAT(watch.look("h1", &fewer, kNow), IsEmpty());
  EXPECT_THAT(types(watch.look("h1", &more, kNow)), ElementsAre("cluster.host_back h2"));
  EXPECT_THAT(types(watch.look("", nullptr, kNow)), ElementsAre("cluster.left h1"));
}

// As one does that takes its own key away, puts it back, and so on.
TEST(ClusterWatch, AHostThatComesAndGoesAllTheTimeIsToldOfSeldom) {
  ClusterWatch watch;
  const auto with = view_of({"h1", "h2"});
  const auto without = view_of({"h1"});
  watch.look("h1", &with, kNow);
  std::size_t told = 0;
  for (int i = 0; i < 100; ++i)
    told += watch.look("h1", i % 2 == 0 ? &without : &with, kNow).size();
  EXPECT_EQ(told, 4u);
  EXPECT_THAT(watch.look("h1", &with, kNow + 10s), IsEmpty());
  const auto away = watch.look("h1", &without, kNow + 10s);
  EXPECT_THAT(types(away), ElementsAre("cluster.host_away h2"));
  EXPECT_EQ(away[0].fields.at("kept_back"), "48");
}

TEST(ClusterWatch, TellsOfChannelsThatOpenAndAreLost) {
  ClusterWatch watch;
  const Instant now{};
  EXPECT_THAT(watch.on_channel("h2", "not yet", now + 1h), IsEmpty());
  EXPECT_THAT(types(watch.on_channel("h2", "", now + 1h)), ElementsAre("channel.open h2"));
  EXPECT_THAT(watch.on_channel("h2", "", now + 1h), IsEmpty());
  const auto lost = watch.on_channel("h2", "it broke", now + 1h);
  EXPECT_THAT(types(lost), ElementsAre("channel.lost h2"));
  EXPECT_EQ(lost[0].fields.at("reason"), "it broke");
}

TEST(ClusterWatch, TellsOfTrunksThatOpenAndEnd) {
  ClusterWatch watch;
  EXPECT_THAT(watch.on_trunk("h2", "mlx5_0", "h2 does not answer", kNow), IsEmpty());
  const auto up = watch.on_trunk("h2", "mlx5_0", "", kNow);
  EXPECT_THAT(types(up), ElementsAre("hca.trunk.up h2"));
  EXPECT_EQ(up[0].fields.at("adapter"), "mlx5_0");
  EXPECT_EQ(up[0].text, "there is a trunk to host h2 over mlx5_0");
  EXPECT_THAT(watch.on_trunk("h2", "mlx5_0", "", kNow), IsEmpty());
  const auto down = watch.on_trunk("h2", "mlx5_0", "mlx5_0 was removed", kNow);
  EXPECT_THAT(types(down), ElementsAre("hca.trunk.down h2"));
  EXPECT_EQ(down[0].severity, model::Severity::kWarning);
  EXPECT_EQ(down[0].fields.at("adapter"), "mlx5_0");
  EXPECT_EQ(down[0].fields.at("reason"), "mlx5_0 was removed");
  EXPECT_EQ(down[0].text, "there is no trunk to host h2 over mlx5_0: mlx5_0 was removed");
}

TEST(ClusterWatch, ATrunkThatComesAndGoesAllTheTimeIsToldOfSeldom) {
  ClusterWatch watch;
  std::size_t told = 0;
  for (int i = 0; i < 100; ++i) {
    told += watch.on_trunk("h2", "mlx5_0", i % 2 == 0 ? "" : "it broke", kNow).size();
  }
  EXPECT_EQ(told, 4u);
  EXPECT_EQ(watch.on_trunk("h2", "mlx5_0", "", kNow + 10s)[0].fields.at("kept_back"), "48");
}

TEST(ClusterWatch, AChannelThatComesAndGoesAllTheTimeIsToldOfSeldom) {
  ClusterWatch watch;
  std::size_t told = 0;
  for (int i = 0; i < 100; ++i) {
    told += watch.on_channel("h2", i % 2 == 0 ? "" : "it broke", Instant{} + 1h).size();
  }
  EXPECT_EQ(told, 4u);
}

}  // namespace
}  // namespace paravane::cluster
