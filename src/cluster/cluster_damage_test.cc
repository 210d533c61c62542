// Files of the cluster that are damaged: the service starts without what they are for, names
// them, and nothing of them is lost.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "authority/damage_check.h"
#include "cluster/cluster_service.h"
#include "cluster/kept_json.h"
#include "cluster/member_files.h"
#include "testing/damage.h"
#include "testing/temp_dir.h"
#include "testing/wait_until.h"

namespace paravane::cluster {
namespace {

using testing::HasSubstr;

const authority::Identity kDamaged{"00112233445566778899aabbccddeeff", "h1"};
constexpr int kRounds = 200;

class ClusterDamageTest : public testing::Test {
 protected:
  ClusterDamageTest() {
    config_.state_dir = dir_.path();
    Membership membership{.self = kDamaged,
                          .authority = kDamaged.host,
                          .door = "192.0.2.1:28249",
                          .runs_etcd = true,
                          .own_etcd_authority = true,
                          .etcd = {"https://192.0.2.1:2379"},
                          .etcd_user = "host-h1",
                          .etcd_password = "0123456789abcdef"};
    EXPECT_TRUE(make_cluster_directory(paths_));
    EXPECT_TRUE(ClusterAuthority::make(authority_config(membership), {}, authority::wall_clock()));
    EXPECT_TRUE(save_membership(paths_, membership));
  }
  ClusterAuthority::Config authority_config(const Membership& membership) {
    return {.paths = paths_,
            .membership = membership,
            .open = {},
            .lifetime_s = 3600,
            .address = {},
            .write_documents = {}};
  }
  // One whose keeper does not answer.
  struct Started {
    explicit Started(const settings::Config& config)
        : service(
              config, dialer,
              [this](privsep::EtcdReach reach) { wants_etcd = reach != privsep::EtcdReach::kOff; },
              listeners()) {
      service.start();
    }
    ClusterService::Listeners listeners() {
      ClusterService::Listeners all;
      all.files = [this](const std::string& damage) { told.push_back(damage); };
      return all;
    }
    ~Started() {
      dialer.close();
      service.stop();
    }
    model::ClusterStatus status() { return *service.cluster_status(); }

    privsep::Dialer dialer{[](const privsep::Note&) {}};
    bool wants_etcd = false;
    std::vector<std::string> told;
    ClusterService service;
  };
  void put(const std::filesystem::path& file, const std::optional<std::string>& bytes) {
    std::filesystem::remove(file);
    if (bytes) std::ofstream(file, std::ios::binary) << *bytes;
  }
  // In all kinds of ways; each time it is named, or nothing differs.
  void damage(const std::filesystem::path& file, bool of_the_authority) {
    const std::string good = *read_file(file);
    Damage damage(23);
    int named = 0;
    for (int round = 0; round < kRounds; ++round) {
      const auto damaged = damage.apply(good);
      put(file, damaged);
      Started started(config_);
      const model::ClusterStatus status = started.status();
      if (status.damage.empty()) {
        EXPECT_TRUE(status.member) << round;
        EXPECT_EQ(status.cluster, kDamaged.cluster) << round;
        EXPECT_EQ(status.host, "h1") << round;
        EXPECT_EQ(status.etcd, std::vector<std::string>{"https://192.0.2.1:2379"}) << round;
        EXPECT_TRUE(ClusterAuthority::load(authority_config(**load_membership(paths_)))) << round;
        if (file.extension() == ".json") {
          const auto kept = nlohmann::json::parse(*damaged);
          const auto before = nlohmann::json::parse(good);
          for (const auto& [key, value] : before.items()) {  // the sum's own name may be another
            EXPECT_TRUE(key == "sum" || kept.value(key, nlohmann::json()) == value) << round;
          }
        }
      } else {
        ++named;
        EXPECT_THAT(status.damage, HasSubstr(file.string())) << round;
        EXPECT_EQ(status.member, of_the_authority) << round;
        EXPECT_EQ(started.service.host_name(), "h1") << round;
        EXPECT_THAT(status.damage_remedy, HasSubstr("Restore the damaged files")) << round;
        EXPECT_EQ(started.told, std::vector<std::string>{status.damage}) << round;
        EXPECT_EQ(started.service.left_out()->reason, status.damage) << round;
      }
      EXPECT_EQ(started.wants_etcd, status.member) << round;
    }
    EXPECT_GE(named, kRounds * 9 / 10);  // or nothing was damaged
    put(file, good);
    EXPECT_EQ(Started(config_).status().damage, "");
  }

  TempDir dir_;
  settings::Config config_;
  settings::ClusterPaths paths_{dir_.path()};
};

TEST_F(ClusterDamageTest, AWholeOneIsEntered) {
  Started started(config_);
  EXPECT_TRUE(started.status().member);
  EXPECT_EQ(started.status().damage, "");
  EXPECT_TRUE(started.told.empty());
  EXPECT_FALSE(started.service.left_out());
}

TEST_F(ClusterDamageTest, AMembershipIsNamedOrTheSame) {
  damage(paths_.membership(), false);
}

TEST_F(ClusterDamageTest, ABookIsNamedOrTheSame) {
  damage(paths_.book(), true);
}

TEST_F(ClusterDamageTest, TheAuthoritysKeyIsNamedOrTheSame) {
  damage(paths_.authority_key(), true);
}

TEST_F(ClusterDamageTest, TheHostsKeyAndCertificateAreNamedOrTheSame) {
  const std::string good = *read_file(paths_.identity());
  Damage damage(29);
  int named = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto damaged = damage.apply(good);
    put(paths_.identity(), damaged);
    Started started(config_);
    const model::ClusterStatus status = started.status();
    EXPECT_EQ(status.member, status.damage.empty()) << round;
    if (status.damage.empty()) {
      EXPECT_TRUE(authority::check_key(*damaged, good)) << round;
      EXPECT_TRUE(authority::check_key(good, *damaged)) << round;
      EXPECT_TRUE(authority::check_signature(*damaged, *read_file(paths_.authority()))) << round;
      continue;
    }
    ++named;
    EXPECT_THAT(status.damage, HasSubstr("host.pem")) << round;
    EXPECT_EQ(started.service.host_name(), "h1") << round;  // the membership says so
  }
  EXPECT_GE(named, kRounds * 9 / 10);
}

TEST_F(ClusterDamageTest, TheAuthoritysCertificateIsNamedOrTheSame) {
  damage(paths_.authority(), false);
}

// A disk can lose more than one.
TEST_F(ClusterDamageTest, AMembershipThatIsGoneIsNoHostOnItsOwn) {
  std::filesystem::remove(paths_.membership());
  const std::string key = *read_file(paths_.authority_key());
  Started started(config_);
  EXPECT_THAT(started.status().damage,
              HasSubstr("is missing, but other files of the cluster exist: authority.json, "
                        "authority.key"));
  for (const auto& refused : {started.service.init_cluster({.host = "h1"}),
                              started.service.join_cluster("pvn1.whatever")}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, model::ApiErrorCode::kStore);
    EXPECT_THAT(refused.error().message, HasSubstr("membership.json is missing"));
    EXPECT_THAT(refused.error().remedy, HasSubstr("paravane cluster leave --force"));
  }
  EXPECT_THAT(started.service.make_token({.host = "h2"}).error().message,
              HasSubstr("membership.json is missing"));
  EXPECT_THAT(started.service.check_change().error().message,
              HasSubstr("membership.json is missing"));
  EXPECT_FALSE(started.service.leave_cluster(false));
  EXPECT_EQ(*read_file(paths_.authority_key()), key);
  EXPECT_EQ(started.service.host_name(), "h1");  // the certificate says so
  ASSERT_TRUE(started.service.leave_cluster(true));
  EXPECT_FALSE(std::filesystem::exists(paths_.directory()));
  EXPECT_EQ(started.status().damage, "");
  EXPECT_TRUE(started.service.check_change());
  EXPECT_EQ(started.told.back(), "");
}

TEST_F(ClusterDamageTest, AKeyThatCameAfterTheStartIsNotDeletedByAnInit) {
  const std::filesystem::path kept = dir_ / "kept";
  std::filesystem::rename(paths_.directory(), kept);
  Started started(config_);
  EXPECT_FALSE(started.status().member);
  std::filesystem::rename(kept, paths_.directory());
  EXPECT_THAT(started.service.init_cluster({.host = "h1"}).error().message,
              HasSubstr("already has files of a cluster"));
  std::filesystem::remove(paths_.membership());
  EXPECT_THAT(started.service.init_cluster({.host = "h1"}).error().message,
              HasSubstr("already has files of a cluster"));
  EXPECT_TRUE(std::filesystem::exists(paths_.authority_key()));
  EXPECT_EQ(make_cluster_directory(paths_).error().code, Errc::kBadState);
  EXPECT_TRUE(std::filesystem::exists(paths_.authority_key()));
}

TEST_F(ClusterDamageTest, WhatIsRestoredIsReadAgain) {
  const std::string good = *read_file(paths_.membership());
  put(paths_.membership(), "{");
  Started started(config_);
  EXPECT_FALSE(started.status().member);
  put(paths_.membership(), good);
  wait_until([&] { return started.status().damage.empty(); });
  EXPECT_TRUE(started.status().member);
  EXPECT_TRUE(started.wants_etcd);
}

TEST_F(ClusterDamageTest, WithoutTheAuthoritysKeyTheHostStaysAMember) {
  std::filesystem::remove(paths_.authority_key());
  const auto loaded = ClusterAuthority::load(authority_config(**load_membership(paths_)));
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("authority.key"));
  Started started(config_);
  EXPECT_TRUE(started.status().member);
  EXPECT_TRUE(started.wants_etcd);
  EXPECT_THAT(started.status().damage, HasSubstr("authority.key"));
}

// As a host that was ended while it made one, or gave one up.
TEST_F(ClusterDamageTest, WhatWasLeftUnfinishedIsNothing) {
  put(paths_.unfinished(), "");
  {
    Started started(config_);  // it was made, and only the note of it is left
    EXPECT_TRUE(started.status().member);
  }
  EXPECT_FALSE(std::filesystem::exists(paths_.unfinished()));
  put(paths_.unfinished(), "");
  std::filesystem::remove(paths_.membership());
  Started started(config_);
  EXPECT_FALSE(started.status().member);
  EXPECT_EQ(started.status().damage, "");
  EXPECT_FALSE(std::filesystem::exists(paths_.directory()));
}

// By version 0.1.0.
TEST_F(ClusterDamageTest, FilesWithoutSumsAreGood) {
  std::filesystem::remove(paths_.sums());
  auto book = nlohmann::json::parse(*read_file(paths_.book()));
  book.erase("sum");
  put(paths_.book(), book.dump());
  Started started(config_);
  EXPECT_TRUE(started.status().member);
  EXPECT_EQ(started.status().damage, "");
}

TEST_F(ClusterDamageTest, WhatANewerVersionHasAddedIsPassedBy) {
  auto book = nlohmann::json::parse(*read_file(paths_.book()));
  book.erase("sum");
  book["newer"] = {1, 2};
  put(paths_.book(), print_kept(book));
  auto membership = nlohmann::json::parse(*read_file(paths_.membership()));
  membership["newer"] = "x";
  std::filesystem::remove(paths_.sums());
  put(paths_.membership(), membership.dump());
  Started started(config_);
  EXPECT_TRUE(started.status().member);
  EXPECT_EQ(started.status().damage, "");
}

// The host may end between the sums and the file.
TEST_F(ClusterDamageTest, AMembershipIsReplacedAtOnceOrNotAtAll) {
  Membership changed = **load_membership(paths_);
  const std::string before = *read_file(paths_.membership());
  changed.etcd = {"https://192.0.2.2:2379"};
  ASSERT_TRUE(save_membership(paths_, changed));
  EXPECT_EQ((*load_member_files(paths_))->etcd, changed.etcd);
  put(paths_.membership(), before);
  EXPECT_TRUE(load_member_files(paths_));
}

TEST_F(ClusterDamageTest, WhatWouldHaveUsWaitOrIsTooLargeIsNotRead) {
  std::filesystem::remove(paths_.membership());
  ASSERT_EQ(::mkfifo(paths_.membership().c_str(), 0600), 0);
  EXPECT_THAT(load_membership(paths_).error().message,
              HasSubstr("is not a regular file, or is too large"));
  put(paths_.membership(), "{");
  std::filesystem::resize_file(paths_.membership(), std::uintmax_t{1} << 30);
  EXPECT_THAT(load_membership(paths_).error().message,
              HasSubstr("is not a regular file, or is too large"));
}

}  // namespace
}  // namespace paravane::cluster
