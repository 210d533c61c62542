// Against a real etcd (Debian's etcd-server) on loopback.

#include "inventory/etcd_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "inventory/etcd_watch.h"
#include "inventory/keys.h"
#include "inventory/users.h"
#include "testing/etcd_process.h"

namespace paravane::inventory {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class EtcdClientTest : public testing::Test {
 protected:
  // What the watch says until it has said `events` changes.
  std::vector<WatchEvent> hear(EtcdWatch& watch, std::size_t events) {
    std::vector<WatchEvent> heard;
    for (int i = 0; i < 200 && heard.size() < events; ++i) {
      const auto answer = watch.next();
      if (!answer) {
        ADD_FAILURE() << answer.error().message;
        break;
      }
      if (!*answer) {
        watch.wait(std::chrono::milliseconds(100), -1);
        continue;
      }
      canceled_ = (*answer)->canceled;
      compacted_ = (*answer)->compact_revision;
      if (canceled_) break;
      heard.insert(heard.end(), (*answer)->events.begin(), (*answer)->events.end());
    }
    return heard;
  }
  std::vector<std::string> keys_below(const std::string& prefix) {
    std::vector<std::string> keys;
    const auto read = client_.for_each(prefix, [&](KeyValue&& pair) {
      keys.push_back(pair.key);
      return std::string();
    });
    EXPECT_TRUE(read);
    return keys;
  }

  EtcdProcess etcd_;
  OpenSocket plainly_;
  EtcdAccess access_ = etcd_.access();
  EtcdClient client_{access_, plainly_};
  bool canceled_ = false;
  std::int64_t compacted_ = 0;
};

TEST_F(EtcdClientTest, GivesBackWhatWasPut) {
  const std::string bytes("\0\xFF\n\"", 4);
  ASSERT_TRUE(client_.put("/a/1", bytes));
  const auto pair = client_.get("/a/1");
  ASSERT_TRUE(pair && *pair);
  EXPECT_EQ((*pair)->value, bytes);
  EXPECT_EQ((*pair)->create_revision, (*pair)->mod_revision);
  EXPECT_FALSE(*client_.get("/a/2"));
}

TEST_F(EtcdClientTest, AKeyIsMadeOnce) {
  EXPECT_TRUE(*client_.create("/a", "1"));
  EXPECT_FALSE(*client_.create("/a", "2"));
  EXPECT_EQ((*client_.get("/a"))->value, "1");
}

TEST_F(EtcdClientTest, ReadsManyKeysAndLargeOnesInPages) {
  for (int page = 0; page < 12; ++page) {
    std::vector<Write> writes;
    for (int i = 0; i < 100; ++i) {
      writes.push_back({.key = "/a/" + std::to_string(page * 100 + i), .value = "x"});
    }
    ASSERT_TRUE(client_.write(writes));
  }
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(client_.put("/a/large" + std::to_string(i), std::string(1'000'000, 'x')));
  }
  ASSERT_TRUE(client_.put("/b", "x"));
  EXPECT_THAT(keys_below("/a/"), SizeIs(1212));
}

TEST_F(EtcdClientTest, PassesByWhatNobodyWantsToSee) {
  ASSERT_TRUE(client_.write({{.key = "/a/1/x", .value = "x"},
                             {.key = "/a/1/y", .value = "x"},
                             {.key = "/a/2/x", .value = "x"}}));
  std::vector<std::string> keys;
  ASSERT_TRUE(client_.for_each("/a/", [&keys](KeyValue&& pair) {
    keys.push_back(pair.key);
    return end_of_prefix(pair.key.substr(0, 5));
  }));
  EXPECT_THAT(keys, testing::ElementsAre("/a/1/x", "/a/2/x"));
}

TEST_F(EtcdClientTest, KeysGoWithTheirLease) {
  const auto lease = client_.grant_lease(std::chrono::seconds(60));
  ASSERT_TRUE(lease);
  ASSERT_TRUE(client_.put("/a", "x", *lease));
  EXPECT_GT(*client_.keep_alive(*lease), 0);
  EXPECT_EQ((*client_.get("/a"))->lease, *lease);
  ASSERT_TRUE(client_.revoke_lease(*lease));
  ASSERT_TRUE(client_.revoke_lease(*lease));  // again
  EXPECT_FALSE(*client_.get("/a"));
  EXPECT_EQ(*client_.keep_alive(*lease), 0);
}

TEST_F(EtcdClientTest, AWatchTellsChangesInTheirOrder) {
  EtcdWatch watch(access_, plainly_);
  watch.start(client_.endpoint(), "", "/a/", 1);
  ASSERT_TRUE(client_.put("/a/1", "x"));
  ASSERT_TRUE(client_.put("/b", "x"));
  ASSERT_TRUE(client_.erase_prefix("/a/"));
  const auto heard = hear(watch, 2);
  ASSERT_THAT(heard, SizeIs(2));
  EXPECT_FALSE(heard[0].deleted);
  EXPECT_EQ(heard[0].pair.value, "x");
  EXPECT_TRUE(heard[1].deleted);
  EXPECT_EQ(heard[1].pair.key, "/a/1");
}

TEST_F(EtcdClientTest, AWatchOfWhatIsCompactedIsOver) {
  ASSERT_TRUE(client_.put("/a/1", "x"));
  ASSERT_TRUE(client_.put("/a/1", "y"));
  ASSERT_TRUE(client_.put("/a/1", "z"));
  ASSERT_TRUE(client_.compact(3));
  EtcdWatch watch(access_, plainly_);
  watch.start(client_.endpoint(), "", "/a/", 1);
  hear(watch, 1);
  EXPECT_TRUE(canceled_);
  EXPECT_EQ(compacted_, 3);
}

TEST_F(EtcdClientTest, NobodyThereIsSaidWithTheReason) {
  etcd_.kill();
  const Status put = client_.put("/a", "x");
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, Errc::kIo);
  EXPECT_THAT(put.error().message, HasSubstr(etcd_.url()));
  etcd_.start();
  EXPECT_TRUE(client_.put("/a", "x"));
}

TEST_F(EtcdClientTest, TheNextEndpointIsTried) {
  const EtcdAccess two{.endpoints = {"http://127.0.0.1:1", etcd_.url()},
                       .authority = {},
                       .identity = {},
                       .user = {},
                       .password = {}};
  EtcdClient client(two, plainly_);
  EXPECT_TRUE(client.put("/a", "x"));
  EXPECT_EQ(client.endpoint(), etcd_.url());
}

TEST_F(EtcdClientTest, OnlyAGivenSocketIsUsed) {
  std::vector<std::string> asked;
  const OpenSocket refuse = [&asked](const std::string& address) -> Result<UniqueFd> {
    asked.push_back(address);
    return fail(Errc::kIo, "not from here");
  };
  EtcdClient client(access_, refuse);
  const Status put = client.put("/a", "x");
  ASSERT_FALSE(put);
  EXPECT_THAT(put.error().message, HasSubstr("not from here"));
  EXPECT_THAT(asked, testing::ElementsAre(etcd_.url().substr(7)));
}

TEST_F(EtcdClientTest, AGivenSocketIsUsedAsItIs) {
  std::size_t opened = 0;
  const OpenSocket open = [this, &opened](const std::string& address) -> Result<UniqueFd> {
    EXPECT_EQ(address, etcd_.url().substr(7));
    ++opened;
    return etcd_.connect();
  };
  EtcdClient client(access_, open);
  const Status put = client.put("/a", "x");
  EXPECT_TRUE(put) << put.error().message;
  EXPECT_TRUE(client.put("/b", "x"));
  EXPECT_EQ(opened, 1U);
}

// An etcd with the users root, host a (of the authority) and host b.
class EtcdUsersTest : public EtcdClientTest {
 protected:
  void SetUp() override {
    EXPECT_FALSE(*client_.auth_enabled());
    ASSERT_EQ(message(close_etcd(client_, "secret")), "");
    EXPECT_TRUE(*client_.auth_enabled());
    ASSERT_EQ(message(admit_host(root_, "a", "password of a", true)), "");
    ASSERT_EQ(message(admit_host(root_, "b", "password of b", false)), "");
  }
  static std::string message(const Status& status) {
    return status ? std::string() : status.error().message;
  }
  static Errc code(const Status& status) { return status ? Errc{99} : status.error().code; }

  EtcdAccess as_root_ = etcd_.access("root", "secret");
  EtcdAccess as_a_ = etcd_.access(host_user("a"), "password of a");
  EtcdAccess as_b_ = etcd_.access(host_user("b"), "password of b");
  EtcdClient root_{as_root_, plainly_};
  EtcdClient a_{as_a_, plainly_};
  EtcdClient b_{as_b_, plainly_};
  const std::string key_of_a_ = host_prefix("a") + "info";
  const std::string key_of_b_ = host_prefix("b") + "info";
};

TEST_F(EtcdUsersTest, AHostWritesBelowItsOwnPrefixAlone) {
  EXPECT_TRUE(a_.put(key_of_a_, "x"));
  EXPECT_TRUE(b_.put(key_of_b_, "x"));
  EXPECT_EQ(code(b_.put(key_of_a_, "y")), Errc::kBadState);
  EXPECT_EQ(code(b_.erase_prefix(host_prefix("a"))), Errc::kBadState);
  EXPECT_EQ(code(b_.write({{.key = key_of_b_, .value = "z"}, {.key = key_of_a_, .value = "z"}})),
            Errc::kBadState);
  EXPECT_FALSE(b_.create(host_prefix("a") + "more", "y"));
  EXPECT_FALSE(b_.create(host_prefix("aa") + "info", "y"));
  EXPECT_EQ(code(b_.put("/elsewhere", "y")), Errc::kBadState);
  EXPECT_EQ((*a_.get(key_of_a_))->value, "x");
  EXPECT_EQ((*a_.get(key_of_b_))->value, "x");
}

TEST_F(EtcdUsersTest, TheConfigurationIsTheAuthoritysToWrite) {
  const std::string key = std::string(kConfigPrefix) + "switches/s1";
  EXPECT_TRUE(a_.put(key, "{}"));
  EXPECT_EQ(code(b_.put(key, "[]")), Errc::kBadState);
  EXPECT_EQ((*b_.get(key))->value, "{}");
}

TEST_F(EtcdUsersTest, AHostCannotEndAnothersLeaseNorUseIt) {
  const auto lease = a_.grant_lease(std::chrono::seconds(600));
  ASSERT_TRUE(lease) << lease.error().message;
  ASSERT_EQ(message(a_.put(key_of_a_, "x", *lease)), "");
  EXPECT_EQ(code(b_.revoke_lease(*lease)), Errc::kBadState);
  EXPECT_EQ(code(b_.put(key_of_b_, "x", *lease)), Errc::kBadState);
  const auto pair = a_.get(key_of_a_);
  ASSERT_TRUE(pair) << pair.error().message;
  EXPECT_TRUE(*pair);
}

TEST_F(EtcdUsersTest, AHostCannotMakeItselfMore) {
  EXPECT_FALSE(b_.give_role(host_user("b"), "root"));
  EXPECT_FALSE(b_.allow(host_user("b"), "/", true));
  EXPECT_FALSE(b_.add_user(host_user("a"), "mine"));
  EXPECT_FALSE(b_.add_user("more", "mine"));
  EXPECT_FALSE(b_.remove_user(host_user("a")));
}

// An etcd that takes connections and says nothing.
TEST(EtcdGivenUpTest, ARequestUnderWayEndsWhenTheDaemonDoes) {
  const UniqueFd mute(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(mute.get(), generic, size), 0);
  ASSERT_EQ(::listen(mute.get(), 4), 0);
  ASSERT_EQ(::getsockname(mute.get(), generic, &size), 0);
  const std::string url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  const std::atomic<bool> given_up{true};
  const EtcdAccess access{.endpoints = {url, url}, .given_up = &given_up};
  const OpenSocket plainly;
  EtcdClient client(access, plainly);
  const auto answer = client.get("key");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("aborted"));
}

TEST_F(EtcdUsersTest, WhoSaysNoPasswordOrAWrongOneIsOut) {
  EXPECT_FALSE(client_.get(key_of_a_));
  const EtcdAccess wrong = etcd_.access(host_user("a"), "password of b");
  EtcdClient thief(wrong, plainly_);
  const auto get = thief.get(key_of_a_);
  ASSERT_FALSE(get);
  EXPECT_EQ(get.error().code, Errc::kBadState);
}

TEST_F(EtcdUsersTest, ALoginThatHasRunOutIsMadeAgain) {
  ASSERT_TRUE(b_.put(key_of_b_, "x"));
  ASSERT_TRUE(admit_host(root_, "c", "password of c", false));  // old logins are no good now
  EXPECT_TRUE(b_.put(key_of_b_, "y"));
  etcd_.kill();
  etcd_.start();  // it has forgotten all logins
  EXPECT_TRUE(b_.put(key_of_b_, "z"));
}

TEST_F(EtcdUsersTest, AWatchShowsAHostWhatItMayRead) {
  EtcdWatch watch(as_b_, plainly_);
  watch.start(b_.endpoint(), *b_.token(), std::string(kRoot), 1);
  ASSERT_TRUE(a_.put(key_of_a_, "x"));
  EXPECT_THAT(hear(watch, 1), SizeIs(1));
  watch.start(b_.endpoint(), *b_.token(), "/elsewhere/", 1);
  hear(watch, 1);
  EXPECT_TRUE(canceled_);
}

TEST_F(EtcdUsersTest, AHostThatIsDismissedIsOut) {
  ASSERT_TRUE(b_.put(key_of_b_, "x"));
  ASSERT_TRUE(dismiss_host(root_, "b"));
  ASSERT_TRUE(dismiss_host(root_, "b"));  // again
  EXPECT_FALSE(b_.put(key_of_b_, "y"));
  EXPECT_FALSE(*a_.get(key_of_b_));
  ASSERT_TRUE(admit_host(root_, "b", "another", false));
  EXPECT_FALSE(b_.put(key_of_b_, "y"));
}

}  // namespace
}  // namespace paravane::inventory
