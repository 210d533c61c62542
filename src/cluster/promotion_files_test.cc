#include "cluster/promotion_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "cluster/cluster_files.h"
#include "testing/temp_dir.h"

namespace paravane::cluster {
namespace {

class PromotionFilesTest : public testing::Test {
 protected:
  PromotionFilesTest() {
    EXPECT_TRUE(make_cluster_directory(paths_));
    put(paths_.identity(), "key and certificate of a member");
    put(paths_.authority(), "the authority's certificate");
    put(paths_.inventory(), "what it followed");
    put(paths_.etcd_authority(), "");  // as a join leaves it
    EXPECT_TRUE(save_membership(paths_, membership("h1")));
  }

  static void put(const std::filesystem::path& file, const std::string& text) {
    ASSERT_TRUE(write_file(file, text)) << file;
  }

  static Membership membership(const std::string& authority) {
    return {.self = {.cluster = std::string(32, 'a'), .host = "h2"},
            .authority = authority,
            .door = "192.0.2.1:28249",
            .runs_etcd = authority == "h2",
            .own_etcd_authority = true,
            .etcd = {"https://192.0.2.1:2379"},
            .etcd_user = "u",
            .etcd_password = "p"};
  }

  // Each file with what is in it.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(paths_.directory())) {
      if (!entry.is_regular_file()) continue;
      found[entry.path().lexically_relative(paths_.directory()).string()] =
          read_file(entry.path()).value_or("cannot be read");
    }
    return found;
  }

  // As a promotion does, but for the membership.
  void replace() const {
    std::filesystem::create_directory(paths_.etcd_data());
    for (const auto& file : {paths_.inventory(), paths_.etcd_authority(), paths_.book(),
                             paths_.authority_key(), paths_.identity(), paths_.own_certificate(),
                             paths_.succession(), paths_.etcd_data() / "db"}) {
      put(file, "of the authority's host");
    }
  }

  TempDir dir_;
  settings::ClusterPaths paths_{dir_.path()};
};

TEST_F(PromotionFilesTest, OneThatDoesNotComeToItsEndLeavesWhatWasThere) {
  const auto were = files();
  ASSERT_TRUE(keep_before_promotion(paths_));
  replace();
  EXPECT_TRUE(settle_promotion(paths_));
  EXPECT_EQ(files(), were);
  EXPECT_TRUE(settle_promotion(paths_));
  EXPECT_EQ(files(), were);
}

TEST_F(PromotionFilesTest, OneThatIsKilledWhileItIsTakenBackIsTakenBack) {
  const auto were = files();
  ASSERT_TRUE(keep_before_promotion(paths_));
  replace();
  // So far it had come.
  std::filesystem::rename(paths_.inventory().string() + ".before", paths_.inventory());
  std::filesystem::remove(paths_.succession());
  EXPECT_TRUE(settle_promotion(paths_));
  EXPECT_EQ(files(), were);
}

TEST_F(PromotionFilesTest, WithTheMembershipItIsDone) {
  ASSERT_TRUE(keep_before_promotion(paths_));
  replace();
  ASSERT_TRUE(save_membership(paths_, membership("h2")));
  const auto membership_now = read_file(paths_.membership());
  EXPECT_TRUE(settle_promotion(paths_));
  const auto are = files();
  EXPECT_EQ(are.at("host.pem"), "of the authority's host");
  EXPECT_EQ(are.at("etcd/db"), "of the authority's host");
  EXPECT_EQ(are.at("membership.json"), *membership_now);
  for (const auto& [name, text] : are) {
    EXPECT_FALSE(name.ends_with(".before") || name.ends_with(".absent")) << name;
  }
}

TEST_F(PromotionFilesTest, NothingIsTakenBackWhereNothingWasKept) {
  replace();
  const auto were = files();
  EXPECT_TRUE(settle_promotion(paths_));
  EXPECT_EQ(files(), were);
}

TEST_F(PromotionFilesTest, OneThatIsKilledWhileItCopiesLeavesNoCopies) {
  const auto were = files();
  ASSERT_TRUE(keep_before_promotion(paths_));
  std::filesystem::remove(paths_.identity().string() + ".before");  // the last that is made
  EXPECT_TRUE(settle_promotion(paths_));
  EXPECT_EQ(files(), were);
}

TEST_F(PromotionFilesTest, WithoutAMembershipThatCanBeReadAllIsLeftAlone) {
  ASSERT_TRUE(keep_before_promotion(paths_));
  replace();
  put(paths_.membership(), "{");
  const auto were = files();
  EXPECT_TRUE(settle_promotion(paths_));
  EXPECT_EQ(files(), were);
}

TEST_F(PromotionFilesTest, WhatOneBeforeHasKeptIsNotTakenForThis) {
  put(paths_.succession().string() + ".before", "of long ago");
  const auto were = files();
  ASSERT_TRUE(keep_before_promotion(paths_));
  replace();
  EXPECT_TRUE(settle_promotion(paths_));
  auto are = were;
  are.erase("succession.json.before");
  EXPECT_EQ(files(), are);
}

}  // namespace
}  // namespace paravane::cluster
