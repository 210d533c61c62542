#include "cluster/member_channels.h"

#include <gtest/gtest.h>

namespace paravane::cluster {
namespace {

using inventory::MemberRecords;

const std::string kOld(64, 'a');
const std::string kNext(64, 'b');
const std::string kOther(64, 'c');
const MemberRecords kBefore{{"h1", {kOther, {kOther}}}, {"h2", {kOld, {kOld}}}};

class MemberChannelsTest : public testing::Test {
 protected:
  // Why the channel to h2 is ended; empty: it is not.
  std::string ended(const MemberRecords& members) {
    const auto all = channels_.look(members);
    if (all.empty()) return {};
    EXPECT_EQ(all.size(), 1U);
    EXPECT_EQ(all.front().host, "h2");
    return all.front().reason;
  }
  MemberChannels channels_;
};

TEST_F(MemberChannelsTest, AMembersChannelStays) {
  channels_.on_made("h2", kOld);
  EXPECT_EQ(ended(kBefore), "");
  EXPECT_EQ(ended(kBefore), "");
}

TEST_F(MemberChannelsTest, ARenewedKeyEndsNoChannel) {
  channels_.on_made("h2", kOld);
  EXPECT_EQ(ended(kBefore), "");
  EXPECT_EQ(ended({{"h1", {kOther, {kOther}}}, {"h2", {kOld, {kOld, kNext}}}}), "");
  EXPECT_EQ(ended({{"h1", {kOther, {kOther}}}, {"h2", {kOld, {kNext}}}}), "");
}

TEST_F(MemberChannelsTest, WhoIsTakenOutLosesItsChannelAtOnce) {
  channels_.on_made("h2", kOld);
  EXPECT_EQ(ended(kBefore), "");
  EXPECT_EQ(ended({{"h1", {kOther, {kOther}}}}), "host h2 is not a member of the cluster");
  EXPECT_EQ(ended({{"h1", {kOther, {kOther}}}}), "") << "once";
}

TEST_F(MemberChannelsTest, WhoseNameAnotherMachineHasLosesItsChannel) {
  channels_.on_made("h2", kOld);
  EXPECT_EQ(ended(kBefore), "");
  EXPECT_EQ(ended({{"h1", {kOther, {kOther}}}, {"h2", {kNext, {kNext}}}}),
            "another machine is host h2 now");
}

TEST_F(MemberChannelsTest, OneThatWasMadeWhileItsHostWasTakenOutIsEnded) {
  channels_.on_made("h2", kOld);
  EXPECT_NE(ended({{"h1", {kOther, {kOther}}}, {"h2", {kNext, {kNext}}}}), "");
}

TEST_F(MemberChannelsTest, OneToAHostKnownByItsNameIsLookedAtWhenItsKeyIsKnown) {
  channels_.on_made("h2", kOld);
  EXPECT_EQ(ended({}), "");
  EXPECT_EQ(ended({{"h1", {kOther, {kOther}}}, {"h2", {"", {}}}}), "");
  EXPECT_EQ(ended({{"h1", {kOther, {kOther}}}, {"h2", {kOther, {kOther}}}}),
            "the machine that claims to be host h2 does not have that member's key");
  channels_.on_made("h2", kOld);
  EXPECT_EQ(ended({}), "");
  EXPECT_EQ(ended(kBefore), "");
  EXPECT_EQ(ended({{"h1", {kOther, {kOther}}}, {"h2", {kOld, {kNext}}}}), "");
}

TEST_F(MemberChannelsTest, TheLastOneCounts) {
  channels_.on_made("h2", kOld);
  EXPECT_EQ(ended(kBefore), "");
  channels_.on_made("h2", kNext);
  EXPECT_EQ(ended({{"h1", {kOther, {kOther}}}, {"h2", {kNext, {kNext}}}}), "");
}

}  // namespace
}  // namespace paravane::cluster
