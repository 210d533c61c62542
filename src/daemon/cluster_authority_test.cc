#include "daemon/cluster_authority.h"

#include <gtest/gtest.h>

#include "testing/log_capture.h"
#include "testing/temp_dir.h"

namespace paravane::daemon {
namespace {

const authority::Identity kSelf{"00112233445566778899aabbccddeeff", "h1"};

authority::Seconds today() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

TEST(ClusterAuthority, WhoKnocksWithoutATokenDoesNotFloodTheLog) {
  const TempDir directory;
  Membership membership;
  membership.self = kSelf;
  membership.authority = kSelf.host;
  membership.door = "192.0.2.1:28249";
  const ClusterAuthority::Config config{.paths = ClusterPaths(directory.path()),
                                        .membership = membership,
                                        .open = {},
                                        .lifetime_s = 3600,
                                        .address = "192.0.2.1"};
  ASSERT_TRUE(make_cluster_directory(config.paths));
  ASSERT_TRUE(ClusterAuthority::make(config, {}, today()));
  auto keeper = ClusterAuthority::load(config);
  ASSERT_TRUE(keeper);
  const LogCapture log;
  for (int i = 0; i < 50; ++i) {
    const auto answer = (*keeper)->answer(std::nullopt,
                                          {.kind = authority::DoorRequest::Kind::kJoin,
                                           .token_id = "0011223344556677",
                                           .secret = std::string(64, 'a'),
                                           .request = "r"},
                                          today());
    EXPECT_EQ(answer.problem, "the token is unknown, used or expired");
  }
  EXPECT_EQ(log.lines(), 3U);
}

}  // namespace
}  // namespace paravane::daemon
