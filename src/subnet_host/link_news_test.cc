#include "subnet_host/link_news.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::subnet_host {
namespace {

using model::Severity;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(LinkNewsTest, OfAPort) {
  LinkNews news{.of = LinkNews::Of::kPort, .name = "mlx4_0", .port = 2, .is_up = true};
  const model::Event up = event_of(news);
  EXPECT_EQ(up.type, "infiniband.port.up");
  EXPECT_EQ(up.severity, Severity::kInfo);
  EXPECT_EQ(up.text, "port 2 of InfiniBand adapter mlx4_0 is Active");
  EXPECT_THAT(up.fields, UnorderedElementsAre(Pair("adapter", "mlx4_0"), Pair("port", "2")));
  news.is_up = false;
  news.reason = "the link is down";
  const model::Event down = event_of(news);
  EXPECT_EQ(down.type, "infiniband.port.down");
  EXPECT_EQ(down.severity, Severity::kWarning);
  EXPECT_EQ(down.text,
            "port 2 of InfiniBand adapter mlx4_0 is not Active any more: the link is down");
  EXPECT_EQ(down.fields.at("reason"), "the link is down");
}

TEST(LinkNewsTest, OfAManager) {
  LinkNews news{.of = LinkNews::Of::kManager, .name = "mlx4_0", .port = 1, .is_up = true};
  const model::Event started = event_of(news);
  EXPECT_EQ(started.type, "infiniband.manager.started");
  EXPECT_EQ(started.severity, Severity::kInfo);
  EXPECT_EQ(started.text, "a subnet manager has started at port 1 of InfiniBand adapter mlx4_0");
  news.is_up = false;
  const model::Event ended = event_of(news);
  EXPECT_EQ(ended.type, "infiniband.manager.ended");
  EXPECT_EQ(ended.severity, Severity::kWarning);
  EXPECT_EQ(ended.text, "the subnet manager at port 1 of InfiniBand adapter mlx4_0 has ended");
  EXPECT_THAT(ended.fields, UnorderedElementsAre(Pair("adapter", "mlx4_0"), Pair("port", "1")));
}

TEST(LinkNewsTest, OfACable) {
  LinkNews news{.of = LinkNews::Of::kCable, .name = "h2", .is_up = true};
  const model::Event up = event_of(news);
  EXPECT_EQ(up.type, "infiniband.cable.up");
  EXPECT_EQ(up.severity, Severity::kInfo);
  EXPECT_EQ(up.text, "the cable to host h2 is up");
  EXPECT_THAT(up.fields, UnorderedElementsAre(Pair("host", "h2")));
  news.is_up = false;
  news.reason = "the host is silent";
  news.kept_back = 7;
  const model::Event down = event_of(news);
  EXPECT_EQ(down.type, "infiniband.cable.down");
  EXPECT_EQ(down.severity, Severity::kWarning);
  EXPECT_EQ(down.text, "the cable to host h2 is down: the host is silent");
  EXPECT_THAT(down.fields,
              UnorderedElementsAre(Pair("host", "h2"), Pair("reason", "the host is silent"),
                                   Pair("kept_back", "7")));
}

}  // namespace
}  // namespace paravane::subnet_host
