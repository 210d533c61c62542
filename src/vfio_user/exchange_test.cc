// The file of an exchange in which an enemy has written any numbers.

#include "vfio_user/exchange.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>
#include <vector>

#include "base/wire_int.h"

namespace paravane::vfio_user {
namespace {

constexpr off_t kAnswerEnd = 48;  // in the file
constexpr std::size_t kAnswerBytes = 100;

class HostileExchange : public ::testing::Test {
 protected:
  HostileExchange() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    socket_.reset(ends[0]);
    vmm_.reset(ends[1]);
  }
  // As another process finds it.
  static Exchange with_answer_end(std::uint64_t end) {
    Exchange made = Exchange::make().value();
    const Le64 number(end);
    EXPECT_EQ(::pwrite(made.fd(), &number, sizeof number, kAnswerEnd), 8);
    return Exchange::take_over(UniqueFd(::fcntl(made.fd(), F_DUPFD_CLOEXEC, 0))).value();
  }

  UniqueFd socket_;
  UniqueFd vmm_;
};

// An answer that the VMM has not read keeps its place, so no other one fits.
TEST_F(HostileExchange, AnAnswerIsWrittenWithinTheFileWhereverTheLastEnds) {
  const std::vector<std::byte> answer(kAnswerBytes, std::byte{7});
  for (const std::uint64_t end : {std::uint64_t{0}, std::uint64_t{1} << 32, UINT64_MAX,
                                  UINT64_MAX - 7, UINT64_MAX - kAnswerBytes + 1}) {
    SCOPED_TRACE(end);
    Exchange exchange = with_answer_end(end);
    ASSERT_EQ(::write(socket_.get(), "x", 1), 1);
    EXPECT_FALSE(exchange.has_room_for(socket_.get(), kAnswerBytes));
    char unread = 0;
    ASSERT_EQ(::read(vmm_.get(), &unread, 1), 1);
    ASSERT_TRUE(exchange.has_room_for(socket_.get(), kAnswerBytes));
    exchange.answer(answer);
    ASSERT_EQ(exchange.send_rest(socket_.get()), static_cast<std::ptrdiff_t>(kAnswerBytes));
    std::vector<std::byte> got(kAnswerBytes);
    ASSERT_EQ(::read(vmm_.get(), got.data(), got.size()), static_cast<ssize_t>(kAnswerBytes));
    EXPECT_EQ(got, answer);
  }
}

}  // namespace
}  // namespace paravane::vfio_user
