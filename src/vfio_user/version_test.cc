#include "vfio_user/version.h"

#include <gtest/gtest.h>

#include "testing/raw_vfio_client.h"

namespace paravane::vfio_user {
namespace {

RawVfioClient::Bytes version(std::string_view json, std::uint16_t minor = 0) {
  const std::byte nul{0};
  return RawVfioClient::join({RawVfioClient::bytes_of(VersionNumbers{{}, Le16(minor)}),
                              std::as_bytes(std::span(json)),
                              {&nul, 1}});
}

TEST(Version, ReadsWhatQemuAndCloudHypervisorSay) {
  const auto qemu = read_version(version(RawVfioClient::kQemuJson));
  ASSERT_TRUE(qemu);
  EXPECT_EQ(qemu->max_fds, 16U);
  EXPECT_EQ(qemu->max_data, kMaxDataBytes);
  const auto cloud = read_version(version(RawVfioClient::kCloudHypervisorJson, 1));
  ASSERT_TRUE(cloud);
  EXPECT_EQ(cloud->minor, 1);
  EXPECT_EQ(cloud->max_fds, 1U);
}

TEST(Version, AClientThatSaysNothingHasTheProtocolsDefaultsUpToOurs) {
  for (const auto& payload : {RawVfioClient::bytes_of(VersionNumbers{}), version("{}"),
                              version(R"({"capabilities":{}})")}) {
    const auto client = read_version(payload);
    ASSERT_TRUE(client);
    EXPECT_EQ(client->max_fds, 1U);
    EXPECT_EQ(client->max_data, kMaxDataBytes);
  }
}

TEST(Version, LargeLimitsAreNotMoreThanOurs) {
  const auto client = read_version(version(
      R"({"capabilities":{"max_data_xfer_size":18446744073709551615,"max_msg_fds":9e18}})"));
  EXPECT_FALSE(client) << "9e18 is no integer";
  const auto large = read_version(version(
      R"({"capabilities":{"max_data_xfer_size":18446744073709551615,"max_msg_fds":4294967297}})"));
  ASSERT_TRUE(large);
  EXPECT_EQ(large->max_data, kMaxDataBytes);
  EXPECT_GE(large->max_fds, 16U);
}

TEST(Version, WhatFollowsTheNulIsIgnored) {
  auto payload = version("{}");
  payload.insert(payload.end(), 20, std::byte{'}'});
  EXPECT_TRUE(read_version(payload));
}

TEST(Version, LessRoomMeansFewerMembers) {
  EXPECT_EQ(version_json(193),
            R"({"capabilities":{"max_data_xfer_size":65536,"max_msg_fds":16,"pgsizes":4096}})");
  EXPECT_EQ(version_json(70), R"({"capabilities":{"max_data_xfer_size":65536,"max_msg_fds":16}})");
  EXPECT_EQ(version_json(50), R"({"capabilities":{"max_data_xfer_size":65536}})");
  EXPECT_EQ(version_json(34), R"({"capabilities":{}})");
  EXPECT_EQ(version_json(0), R"({"capabilities":{}})") << "never without JSON";
}

}  // namespace
}  // namespace paravane::vfio_user
