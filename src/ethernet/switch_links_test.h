// What tests of make_links() share: a network of their own with a NIC, whose cable ends at "far",
// and what they want of it: a bridge and a tap.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "ethernet/switch_links.h"
#include "testing/own_network.h"

namespace paravane::ethernet {

class SwitchLinksTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(network_.made()) << "needs root";
    ASSERT_TRUE(network_.ip("link add nic type veth peer name far"));
    wanted_.bridges = {{.name = "pvs-lan", .label = "lan"}};
    wanted_.taps = {{.name = "pv-db1", .bridge = "pvs-lan", .label = "db1"}};
    wanted_.given = {"nic"};
  }
  std::vector<LinkProblem> make(const std::string& mark = "paravane:1:") {
    auto made = make_links(mark, wanted_);
    EXPECT_TRUE(made) << made.error().message;
    if (!made) return {};
    made_ = std::move(*made);
    wanted_.known = made_.known;
    return made_.problems;
  }
  // What was done at the last time, as "link: what".
  std::vector<std::string> changes() const {
    std::vector<std::string> texts;
    for (const LinkChange& change : made_.changes)
      texts.push_back(change.link + ": " + change.text);
    return texts;
  }
  void want_uplink() { wanted_.uplinks = {{.name = "nic", .bridge = "pvs-lan"}}; }
  static auto problem(const std::string& link, const std::string& text) {
    return testing::AllOf(testing::Field(&LinkProblem::link, link),
                          testing::Field(&LinkProblem::text, testing::HasSubstr(text)));
  }
  bool is_on(const std::string& port, const std::string& bridge) const {
    return network_.ip_shows("link show dev " + port, "master " + bridge + " ");
  }

  OwnNetwork network_;
  WantedLinks wanted_;
  MadeLinks made_;
};

}  // namespace paravane::ethernet
