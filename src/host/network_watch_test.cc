#include "host/network_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::host {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> texts(const std::vector<model::Event>& events) {
  std::vector<std::string> result;
  for (const model::Event& event : events) result.push_back(event.type + ": " + event.text);
  return result;
}

TEST(NetworkWatch, WhatIsThereFirstIsNoNews) {
  NetworkWatch watch;
  const model::Network network{.switches = {{"lan", {.name = "lan"}}}};
  watch.begin(network);
  EXPECT_THAT(watch.look(network), IsEmpty());
}

TEST(NetworkWatch, TellsWhatCameChangedAndWent) {
  NetworkWatch watch;
  model::Network network{.switches = {{"lan", {.name = "lan"}}},
                         .port_groups = {{"a", {.name = "a", .vds = "lan"}}}};
  EXPECT_THAT(texts(watch.look(network)),
              ElementsAre("switch.created: switch lan was created",
                          "portgroup.created: port group a was created"));
  network.switches["lan"].mtu = 9000;
  network.port_groups.clear();
  EXPECT_THAT(texts(watch.look(network)),
              ElementsAre("switch.changed: switch lan was changed",
                          "portgroup.deleted: port group a was deleted"));
}

}  // namespace
}  // namespace paravane::host
