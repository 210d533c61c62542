// Taps without a header. Those with one: roce_port_test and roce_port_traffic_test.

#include "ethernet/offload_tap.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "ethernet/tap.h"
#include "testing/own_network.h"

namespace paravane::ethernet {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kIpv4 = 14;
constexpr std::size_t kUdp = kIpv4 + 20;
constexpr std::uint16_t kPort = 4000;
constexpr const char* kNeighbor = "02:00:00:00:00:07";

std::uint32_t sum(std::span<const std::uint8_t> bytes) {
  std::uint32_t total = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    total += std::uint32_t{bytes[i]} << (i % 2 == 0 ? 8 : 0);
  return total;
}

// RFC 768.
bool has_right_checksum(std::span<const std::uint8_t> frame) {
  const auto segment = frame.subspan(kUdp);
  if (segment[6] == 0 && segment[7] == 0) return false;
  std::uint32_t total = sum(frame.subspan(kIpv4 + 12, 8)) + IPPROTO_UDP +
                        static_cast<std::uint32_t>(segment.size()) + sum(segment);
  while (total > 0xFFFF) total = (total & 0xFFFF) + (total >> 16);
  return total == 0xFFFF;
}

class FrameTapTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(network_.made()) << "needs root";
    ASSERT_TRUE(make_tap("tap", {}));
    ASSERT_TRUE(network_.ip("address add 192.0.2.1/24 dev tap"));
  }
  void open() {
    auto tap = open_frame_tap("tap");
    ASSERT_TRUE(tap) << tap.error().message;
    tap_ = std::move(*tap);
    ASSERT_TRUE(network_.ip("link set tap up"));
    ASSERT_TRUE(network_.ip(std::string("neigh replace 192.0.2.2 dev tap lladdr ") + kNeighbor));
  }
  // `segment` not 0: the kernel cuts it into datagrams of this size (UDP_SEGMENT).
  static bool send(std::size_t size, int segment = 0) {
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (segment != 0 &&
        ::setsockopt(socket.get(), IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0) {
      return false;
    }
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(kPort);
    ::inet_pton(AF_INET, "192.0.2.2", &to.sin_addr);
    const std::vector<std::uint8_t> payload(size, 0x5A);
    return ::sendto(socket.get(), payload.data(), size, 0, reinterpret_cast<const sockaddr*>(&to),
                    sizeof to) == static_cast<ssize_t>(size);
  }
  // Frames of UDP that the tap has now; others (IPv6's own) are left out.
  std::vector<std::vector<std::uint8_t>> read_all() const {
    std::vector<std::vector<std::uint8_t>> frames;
    std::vector<std::uint8_t> frame(70'000);
    for (;;) {
      const ssize_t size = ::read(tap_.get(), frame.data(), frame.size());
      if (size < 0) return frames;
      const std::span read = std::span(frame).first(static_cast<std::size_t>(size));
      if (read.size() < kUdp + 8 || read[12] != 0x08 || read[13] != 0x00) continue;
      frames.emplace_back(read.begin(), read.end());
    }
  }

  OwnNetwork network_;
  UniqueFd tap_;
};

TEST_F(FrameTapTest, AFrameBeginsWithItsAddressesAndIsWhole) {
  open();
  ASSERT_TRUE(send(100));
  const auto frames = read_all();
  ASSERT_THAT(frames, SizeIs(1));
  EXPECT_THAT(std::vector(frames[0].begin(), frames[0].begin() + 6), ElementsAre(2, 0, 0, 0, 0, 7));
  EXPECT_EQ(frames[0].size(), kUdp + 8 + 100);
  EXPECT_TRUE(has_right_checksum(frames[0]));
}

// A tap has the offloads of the program that had it open before.
TEST_F(FrameTapTest, NothingIsLeftToTheReaderThatAnotherUserOfTheTapAskedFor) {
  {
    const auto before = open_offload_tap("tap");
    ASSERT_TRUE(before) << before.error().message;
    const int small = 1;
    ASSERT_EQ(::ioctl(before->tap.get(), TUNSETSNDBUF, &small), 0);
    ASSERT_EQ(::ioctl(before->tap.get(), TUNSETOWNER, 1UL), 0);
  }
  open();
  EXPECT_TRUE(network_.ip_shows("-details link show dev tap", "user root"));
  EXPECT_TRUE(network_.ip_shows("-details link show dev tap", "vnet_hdr off"));
  ASSERT_TRUE(send(3000, 1000));
  const auto frames = read_all();
  ASSERT_THAT(frames, SizeIs(3));
  EXPECT_THAT(frames, Each(SizeIs(kUdp + 8 + 1000)));
  for (const auto& frame : frames) EXPECT_TRUE(has_right_checksum(frame));
  int buffer = 0;
  ASSERT_EQ(::ioctl(tap_.get(), TUNGETSNDBUF, &buffer), 0);
  EXPECT_GT(buffer, 1'000'000);
}

TEST_F(FrameTapTest, DoesNotBlockAndHasOneUserAtATime) {
  open();
  EXPECT_THAT(read_all(), IsEmpty());  // as it returns
  EXPECT_NE(::fcntl(tap_.get(), F_GETFD) & FD_CLOEXEC, 0);
  const auto second = open_frame_tap("tap");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kBadState);
}

TEST_F(FrameTapTest, ATapThatIsNotThereIsNotMade) {
  const auto tap = open_frame_tap("other");
  ASSERT_FALSE(tap);
  EXPECT_EQ(tap.error().code, Errc::kNotFound);
  EXPECT_FALSE(network_.is_there("other"));
}

}  // namespace
}  // namespace paravane::ethernet
