#include "cluster/cluster_authority.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "testing/log_capture.h"
#include "testing/temp_dir.h"

namespace paravane::cluster {
namespace {

using authority::DoorAnswer;
using authority::DoorRequest;

const authority::Identity kSelf{"00112233445566778899aabbccddeeff", "h1"};
constexpr std::uint64_t kLifetime = 3600;

authority::Seconds authority_day() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

// A machine with a key of its own, and a request for a certificate of it.
struct AuthorityMachine {
  authority::KeyPair request = *authority::make_request();
  authority::Peer peer;
};

class ClusterAuthorityTest : public testing::Test {
 protected:
  ClusterAuthorityTest() {
    config_.membership.self = kSelf;
    config_.membership.authority = kSelf.host;
    config_.membership.door = "192.0.2.1:28249";
    config_.write_documents = [this](const std::vector<inventory::Write>& writes) -> Status {
      if (is_away_) return fail(Errc::kIo, "etcd is away");
      for (const auto& [name, json] : writes) {
        if (json) {
          documents_[name] = *json;
        } else {
          documents_.erase(name);
        }
      }
      written_.push_back(writes);
      return {};
    };
    EXPECT_TRUE(make_cluster_directory(config_.paths));
    EXPECT_TRUE(ClusterAuthority::make(config_, {}, authority_day()));
    restart();
  }
  void restart() {
    keeper_.reset();
    auto loaded = ClusterAuthority::load(config_);
    ASSERT_TRUE(loaded) << loaded.error().message;
    keeper_ = std::move(*loaded);
  }
  // One that the authority has signed for, as h2; no member by that.
  AuthorityMachine machine() {
    AuthorityMachine made;
    const auto keys = authority::KeyPair{.key = *read_file(config_.paths.authority_key()),
                                         .certificate = *read_file(config_.paths.authority())};
    const auto seen = authority::inspect(*authority::sign(keys, made.request.certificate,
                                                          {.identity = {kSelf.cluster, "h2"},
                                                           .address = {},
                                                           .from = authority_day(),
                                                           .until = authority_day() + kDay}));
    made.peer = {.identity = *seen->identity, .key = seen->key};
    return made;
  }
  nlohmann::json book() {
    auto whole = nlohmann::json::parse(*read_file(config_.paths.book()));
    whole.erase("sum");  // it is kept without, as an older version does
    return whole;
  }
  void keep_book(const nlohmann::json& changed) {
    ASSERT_TRUE(write_file(config_.paths.book(), changed.dump()));
    restart();
  }
  void keep_members(const authority::MemberBook& members) {
    auto changed = book();
    changed["members"] = members.print();
    keep_book(changed);
  }
  // As an older version has it.
  void keep_names(const nlohmann::json& names) {
    auto changed = book();
    changed.erase("members");
    changed["hosts"] = names;
    keep_book(changed);
  }
  // The book as a join of h2 leaves it, told to the others.
  void keep_member(const AuthorityMachine& machine) {
    authority::MemberBook members;
    members.admit("h2", machine.peer.key);
    keep_members(members);
    EXPECT_TRUE(keeper_->settle(view()));
  }
  // With so many beside this host, whose names come before its own.
  void keep_many(int count) {
    authority::MemberBook members;
    for (int i = 0; i < count; ++i) members.admit(fmt::format("a{:03}", i), std::string(64, 'a'));
    keep_members(members);
  }
  DoorAnswer ask(const AuthorityMachine& machine, DoorRequest::Kind kind,
                 const std::string& request = {}) {
    return keeper_->answer(machine.peer,
                           {.kind = kind, .token_id = {}, .secret = {}, .request = request},
                           authority_day());
  }
  DoorAnswer renew(const AuthorityMachine& machine, const AuthorityMachine& next) {
    return ask(machine, DoorRequest::Kind::kRenew, next.request.certificate);
  }
  // What etcd says, with what hosts say of themselves.
  inventory::View view(const std::string& key_of_h2 = {}) {
    inventory::Records records;
    const auto put = [&records](std::string_view name, const std::string& text) {
      std::string key(inventory::kConfigPrefix);
      records.put({.key = key.append(name), .value = text});
    };
    put(inventory::kClusterDocument, R"({"authority":"h1"})");
    for (const auto& [name, text] : documents_) put(name, text);
    inventory::View seen = *records.build();
    EXPECT_EQ(seen.odd_keys, 0U);
    if (!key_of_h2.empty()) seen.hosts["h2"].info.emplace().key = key_of_h2;
    return seen;
  }
  std::string why_no_member(const AuthorityMachine& machine) {
    return inventory::why_no_member(view().members, "h2", machine.peer.key);
  }

  static constexpr std::chrono::hours kDay{24};
  TempDir directory_;
  std::map<std::string, std::string> documents_;
  std::vector<std::vector<inventory::Write>> written_;
  bool is_away_ = false;
  ClusterAuthority::Config config_{.paths = settings::ClusterPaths(directory_.path()),
                                   .membership = {},
                                   .open = {},
                                   .lifetime_s = kLifetime,
                                   .address = "192.0.2.1"};
  std::unique_ptr<ClusterAuthority> keeper_;
};

// A host that is promoted: the others know it by the key that it has.
TEST_F(ClusterAuthorityTest, AHostThatHasAKeyKeepsItAsTheAuthoritys) {
  const authority::KeyPair keys{.key = *read_file(config_.paths.authority_key()),
                                .certificate = *read_file(config_.paths.authority())};
  const std::string own = *read_file(config_.paths.identity());
  const std::string known = authority::inspect(own)->key;
  AuthorityBook written;
  written.members.admit(kSelf.host, known);
  ASSERT_TRUE(ClusterAuthority::write(config_, keys, written, authority_day(), own));
  EXPECT_EQ(authority::inspect(*read_file(config_.paths.identity()))->key, known);
  const auto book = load_book(config_.paths);
  const authority::MemberKeys member = book->members.members().at(kSelf.host);
  EXPECT_EQ(member.present, known);
  EXPECT_EQ(member.next, "");
  ASSERT_TRUE(ClusterAuthority::write(config_, keys, written, authority_day()));
  EXPECT_NE(authority::inspect(*read_file(config_.paths.identity()))->key, known);
}

TEST_F(ClusterAuthorityTest, WhoKnocksWithoutATokenDoesNotFloodTheLog) {
  const LogCapture log;
  for (int i = 0; i < 50; ++i) {
    const auto answer = keeper_->answer(std::nullopt,
                                        {.kind = DoorRequest::Kind::kJoin,
                                         .token_id = "0011223344556677",
                                         .secret = std::string(64, 'a'),
                                         .request = "r"},
                                        authority_day());
    EXPECT_EQ(answer.problem, "the join token is unknown, used or expired");
  }
  EXPECT_EQ(log.lines(), 3U);
}

TEST_F(ClusterAuthorityTest, WhoHadTheNameBeforeIsRefusedAtTheDoor) {
  const AuthorityMachine old = machine();
  const AuthorityMachine now = machine();
  keep_member(now);
  for (int start = 0; start < 2; ++start) {
    EXPECT_NE(renew(old, old).problem, "");
    EXPECT_NE(renew(old, now).problem, "") << "whatever it asks for";
    EXPECT_NE(ask(old, DoorRequest::Kind::kLeave).problem, "");
    EXPECT_EQ(keeper_->others(), (std::set<std::string>{"h2"}));
    EXPECT_EQ(renew(now, now).problem, "");
    restart();
  }
  const LogCapture log;
  for (int i = 0; i < 50; ++i) renew(old, old);
  EXPECT_EQ(log.lines(), 3U);
}

TEST_F(ClusterAuthorityTest, TheAuthoritysOwnHostDoesNotComeToItsDoor) {
  const auto own = authority::inspect(*read_file(config_.paths.identity()));
  const auto answer = keeper_->answer(
      authority::Peer{.identity = kSelf, .key = own->key},
      {.kind = DoorRequest::Kind::kLeave, .token_id = {}, .secret = {}, .request = {}},
      authority_day());
  EXPECT_EQ(answer.problem,
            "host h1 is the authority and must not send requests to its own join endpoint");
}

// That version skips in "hosts" what is no name, and would have no members.
TEST_F(ClusterAuthorityTest, ItsBookIsNoneForAVersionThatKeepsNames) {
  EXPECT_FALSE(book().contains("hosts"));
  keep_names({"h2"});
  EXPECT_EQ(keeper_->others(), (std::set<std::string>{"h2"})) << "that version's book is read";
  EXPECT_TRUE(keeper_->settle(view(std::string(64, 'a'))));
  EXPECT_FALSE(book().contains("hosts")) << "kept anew";
  restart();
  EXPECT_EQ(keeper_->others(), (std::set<std::string>{"h2"}));
}

TEST_F(ClusterAuthorityTest, ABookWithTwoListsOfMembersOrNoneIsDamaged) {
  auto both = book();
  both["hosts"] = {"h2"};
  auto neither = book();
  neither.erase("members");
  auto mixed = neither;
  mixed["hosts"] = book()["members"];
  for (const auto& damaged : {both, neither, mixed}) {
    ASSERT_TRUE(write_file(config_.paths.book(), damaged.dump()));
    EXPECT_FALSE(ClusterAuthority::load(config_)) << damaged;
  }
}

TEST_F(ClusterAuthorityTest, ANewKeyIsToldToTheOthersBeforeItIsUsed) {
  const AuthorityMachine first = machine();
  const AuthorityMachine next = machine();
  keep_member(first);
  const DoorAnswer answer = renew(first, next);
  ASSERT_EQ(answer.problem, "");
  EXPECT_EQ(authority::inspect(answer.certificate)->key, next.peer.key);
  EXPECT_EQ(why_no_member(first), "") << "the answer may be lost";
  EXPECT_EQ(why_no_member(next), "");
  EXPECT_NE(why_no_member(machine()), "");
  restart();
  EXPECT_EQ(renew(next, next).problem, "");
  EXPECT_NE(why_no_member(first), "") << "it has the new one";
}

TEST_F(ClusterAuthorityTest, NoKeyIsSignedThatTheOthersCannotBeTold) {
  const AuthorityMachine first = machine();
  keep_member(first);
  is_away_ = true;
  const DoorAnswer answer = renew(first, machine());
  EXPECT_EQ(answer.problem, "the authority cannot inform the other hosts now: etcd is away");
  EXPECT_EQ(answer.certificate, "");
  is_away_ = false;
  EXPECT_EQ(renew(first, machine()).problem, "") << "it may ask again";
}

TEST_F(ClusterAuthorityTest, TheKeyThatAMemberSaysItUsesEndsTheOneBefore) {
  const AuthorityMachine first = machine();
  const AuthorityMachine next = machine();
  keep_member(first);
  ASSERT_EQ(renew(first, next).problem, "");
  EXPECT_TRUE(keeper_->settle(view(first.peer.key)));
  EXPECT_EQ(why_no_member(first), "");
  EXPECT_TRUE(keeper_->settle(view(next.peer.key)));
  EXPECT_NE(why_no_member(first), "");
  EXPECT_EQ(why_no_member(next), "");
  restart();
  EXPECT_NE(renew(first, first).problem, "");
}

TEST_F(ClusterAuthorityTest, WhatStandsInEtcdBecomesWhatTheBookSays) {
  const AuthorityMachine member = machine();
  keep_member(member);
  documents_["members/h3"] = inventory::print_member("h3", {"", {}});
  EXPECT_TRUE(keeper_->settle(view()));
  EXPECT_EQ(view().members.size(), 2U);
  EXPECT_TRUE(view().members.contains("h1"));
  EXPECT_EQ(why_no_member(member), "");
  EXPECT_NE(why_no_member(machine()), "");
  is_away_ = true;
  EXPECT_TRUE(keeper_->settle(view())) << "nothing is left to write";
  documents_.clear();
  EXPECT_FALSE(keeper_->settle(view()));
}

TEST_F(ClusterAuthorityTest, AllThatDiffersIsWrittenAtOnceAndItsOwnRecordLast) {
  authority::MemberBook members;
  for (const char* host : {"a", "z"}) members.admit(host, std::string(64, 'a'));
  keep_members(members);
  documents_["members/m"] = inventory::print_member("m", {"", {}});
  ASSERT_TRUE(keeper_->settle(view()));
  ASSERT_EQ(written_.size(), 1U);
  std::vector<std::string> names;
  for (const auto& write : written_[0]) names.push_back(write.key);
  EXPECT_EQ(names, (std::vector<std::string>{"members/m", "members/a", "members/z", "members/h1",
                                             "cluster"}));
  EXPECT_FALSE(written_[0][0].value) << "it is gone before others need its room";
}

TEST_F(ClusterAuthorityTest, WhereMoreAreKeptThanReadersTakeSettlingEnds) {
  keep_many(300);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(keeper_->settle(view()));
  EXPECT_EQ(written_.size(), 1U);
  EXPECT_EQ(view().members.size(), inventory::View::kMaxHosts);
  EXPECT_TRUE(view().members.contains("h1")) << "without which the others count for nothing";
}

TEST_F(ClusterAuthorityTest, NoMoreHostsJoinThanReadersTake) {
  keep_many(inventory::View::kMaxHosts - 2);
  const auto text = keeper_->make_token("h8", authority_day() + kDay, authority_day());
  ASSERT_TRUE(text);
  keep_many(inventory::View::kMaxHosts - 1);
  const auto refused = keeper_->make_token("h9", authority_day() + kDay, authority_day());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, model::ApiErrorCode::kLimitReached);
  EXPECT_EQ(refused.error().message,
            "host h9 cannot join: the cluster has 256 hosts, which is the limit");
  EXPECT_NE(refused.error().remedy, "");
  const auto token = *authority::parse_token(*text);
  const auto answer = keeper_->answer(std::nullopt,
                                      {.kind = DoorRequest::Kind::kJoin,
                                       .token_id = token.id,
                                       .secret = token.secret,
                                       .request = machine().request.certificate},
                                      authority_day());
  EXPECT_EQ(
      answer.problem,
      "the cluster has reached its maximum number of hosts; remove a host before adding another");
  EXPECT_EQ(answer.refusal, authority::DoorRefusal::kBusy);
}

TEST_F(ClusterAuthorityTest, WhoJoinedBeforeKeysWereKeptIsKnownByItsNameUntilItSaysItsKey) {
  const AuthorityMachine member = machine();
  const AuthorityMachine old = machine();
  keep_names({"h2"});
  EXPECT_TRUE(keeper_->settle(view()));
  EXPECT_EQ(view().members.at("h2"), inventory::MemberRecord());
  EXPECT_EQ(renew(old, old).problem, "") << "as ever";
  EXPECT_EQ(view().members.at("h2"), inventory::MemberRecord()) << "and nothing follows from it";
  EXPECT_TRUE(keeper_->settle(view(member.peer.key)));
  EXPECT_EQ(why_no_member(member), "");
  EXPECT_NE(why_no_member(old), "");
  restart();
  EXPECT_NE(renew(old, old).problem, "");
  EXPECT_EQ(renew(member, member).problem, "");
}

TEST_F(ClusterAuthorityTest, ItsOwnKeyIsToldUnlessTheCertificateIsNearlyOver) {
  const std::string key = authority::inspect(*read_file(config_.paths.identity()))->key;
  const AuthorityMachine next = machine();
  const auto renews_own = [&](std::chrono::seconds left) {
    return keeper_->renew_own(key,
                              {.from = authority_day() - kDay, .until = authority_day() + left},
                              next.request.certificate, authority_day());
  };
  is_away_ = true;
  EXPECT_FALSE(renews_own(std::chrono::seconds(kLifetime / 3)));
  EXPECT_TRUE(renews_own(std::chrono::seconds(kLifetime / 10)));
  EXPECT_TRUE(renews_own(std::chrono::seconds(-1)));
  EXPECT_TRUE(keeper_->renew_own(
      key, {.from = authority_day() + kDay, .until = authority_day() + 90 * kDay},
      next.request.certificate, authority_day()))
      << "etcd refuses a certificate that is not in force yet";
  is_away_ = false;
  ASSERT_TRUE(renews_own(std::chrono::seconds(kLifetime / 3)));
  EXPECT_EQ(inventory::why_no_member(view().members, "h1", key), "");
  EXPECT_EQ(inventory::why_no_member(view().members, "h1", next.peer.key), "");
}

}  // namespace
}  // namespace paravane::cluster
