#include "inventory/member_record.h"

#include <gtest/gtest.h>

namespace paravane::inventory {
namespace {

const std::string kOld(64, 'a');
const std::string kNew(64, 'b');
const std::string kOther(64, 'c');

TEST(MemberRecord, ComesAcross) {
  for (const MemberRecord& record :
       {MemberRecord{kOld, {kOld}}, MemberRecord{kOld, {kNew, kOther}}, MemberRecord{"", {}}}) {
    const auto seen = parse_member(member_document("h2"), print_member("h2", record));
    ASSERT_TRUE(seen);
    EXPECT_EQ(*seen, record);
  }
  EXPECT_EQ(member_of_document(member_document("h2")), "h2");
  EXPECT_EQ(member_of_document("vds/h2"), std::nullopt);
}

TEST(MemberRecord, AnOddOneIsNone) {
  const std::string key = '"' + kOld + '"';
  for (const std::string& text :
       {std::string("[]"), std::string("{}"), R"({"host":"h3","joined":)" + key + R"(,"keys":[]})",
        R"({"host":"h2","joined":)" + key + R"(,"keys":[]})",
        R"({"host":"h2","joined":"","keys":[)" + key + "]}",
        R"({"host":"h2","joined":)" + key + R"(,"keys":["x"]})",
        R"({"host":"h2","joined":)" + key + R"(,"keys":[1]})",
        R"({"host":"h2","joined":)" + key + R"(,"keys":[)" + key + "," + key + "," + key + "]}"}) {
    EXPECT_FALSE(parse_member(member_document("h2"), text)) << text;
  }
}

TEST(MemberRecord, AMemberIsKnownByItsKeysAndNotByItsName) {
  const MemberRecords records{{"h1", {kOther, {kOther}}}, {"h2", {kOld, {kOld, kNew}}}};
  EXPECT_EQ(why_no_member(records, "h2", kOld), "");
  EXPECT_EQ(why_no_member(records, "h2", kNew), "");
  EXPECT_EQ(why_no_member(records, "h2", kOther),
            "the machine that claims to be host h2 does not have that member's key");
  EXPECT_EQ(why_no_member(records, "h3", kOther), "host h3 is not a member of the cluster");
}

TEST(MemberRecord, OneWithoutAKeyIsKnownByItsName) {
  const MemberRecords records{{"h1", {kOther, {kOther}}}, {"h2", {"", {}}}};
  EXPECT_EQ(why_no_member(records, "h2", kOld), "");
  EXPECT_NE(why_no_member(records, "h1", kOld), "");
}

TEST(MemberRecord, AnAuthorityThatKeepsNoKeysHasMembersByName) {
  EXPECT_EQ(why_no_member({}, "h2", kOld), "");
}

}  // namespace
}  // namespace paravane::inventory
