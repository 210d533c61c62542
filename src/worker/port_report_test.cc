#include "worker/port_report.h"

#include <gtest/gtest.h>

namespace paravane::worker {
namespace {

device::QueuePairView connected_by(std::string_view path) {
  device::QueuePairView qp;
  qp.path = path;
  qp.peer_gid.emplace();
  if (path.starts_with("tcp")) qp.peer_host = verbs::HostId{2};
  return qp;
}

TEST(PathReason, WithinTheHostNothingIsBetterThanLocal) {
  EXPECT_EQ(path_reason(connected_by("local"), {}), "same host");
}

TEST(PathReason, BetweenHostsNoAdapterIsUsable) {
  EXPECT_EQ(path_reason(connected_by("tcp"), {.name = "h2", .problem = ""}),
            "hca: no usable adapter");
}

TEST(PathReason, AHostThatCannotBeReachedIsSaidToBeSo) {
  EXPECT_EQ(path_reason(connected_by("tcp"), {.name = "h2", .problem = "the connection failed"}),
            "no channel: the connection failed");
}

TEST(PathReason, APathMadeWorseOnPurposeSaysSo) {
  EXPECT_EQ(path_reason(connected_by("tcp+impaired"), {.name = "h2", .problem = ""}),
            "hca: no usable adapter; impaired");
}

TEST(PathReason, WhoIsNotConnectedHasNoPath) {
  EXPECT_EQ(path_reason({}, {}), "");
  EXPECT_EQ(path_reason(connected_by("-"), {}), "no adapter in this network has the peer's GID");
}

}  // namespace
}  // namespace paravane::worker
