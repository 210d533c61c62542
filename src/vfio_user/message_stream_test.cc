#include "vfio_user/message_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <memory>

#include "testing/raw_vfio_client.h"

namespace paravane::vfio_user {
namespace {

using Fill = MessageStream::Fill;

class MessageStreamTest : public ::testing::Test {
 protected:
  MessageStreamTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    ours_.reset(ends[0]);
    client_ = std::make_unique<RawVfioClient>(UniqueFd(ends[1]), [] {});
  }

  static RawVfioClient::Bytes message(std::uint16_t id, std::size_t payload = 0) {
    return RawVfioClient::message(Command::kReset, id, RawVfioClient::Bytes(payload));
  }
  std::vector<int> events(std::size_t count) { return std::vector<int>(count, event_.get()); }
  Fill fill() { return stream_.fill(ours_.get()); }
  // The next message's id; -1: none is whole.
  int next_id() {
    auto next = stream_.next();
    EXPECT_TRUE(next);
    if (!*next) return -1;
    fds_ = std::move((*next)->fds);
    fds_lost_ = (*next)->fds_lost;
    return (*next)->header.id.get();
  }

  UniqueFd event_{eventfd(0, EFD_CLOEXEC)};
  UniqueFd ours_;
  std::unique_ptr<RawVfioClient> client_;
  MessageStream stream_;
  std::vector<UniqueFd> fds_;
  bool fds_lost_ = false;
};

TEST_F(MessageStreamTest, EmptySocketHasNothing) {
  EXPECT_EQ(fill(), Fill::kEmpty);
  EXPECT_EQ(next_id(), -1);
  EXPECT_FALSE(stream_.has_next());
}

TEST_F(MessageStreamTest, SeesTheClientGo) {
  client_->send_bytes(message(1));
  client_->hang_up();
  EXPECT_EQ(fill(), Fill::kDrained);
  EXPECT_EQ(next_id(), 1);
  EXPECT_EQ(fill(), Fill::kClosed);
}

TEST_F(MessageStreamTest, WaitsForTheRestOfAHeaderAndOfABody) {
  const auto whole = message(7, 20);
  for (const auto& [from, to] : {std::pair{0U, 5U}, {5U, 16U}, {16U, 35U}}) {
    client_->send_bytes(std::span(whole).subspan(from, to - from));
    EXPECT_EQ(fill(), Fill::kDrained);
    EXPECT_EQ(next_id(), -1);
    EXPECT_FALSE(stream_.has_next());
  }
  client_->send_bytes(std::span(whole).subspan(35));
  EXPECT_EQ(fill(), Fill::kDrained);
  EXPECT_TRUE(stream_.has_next());
  EXPECT_EQ(next_id(), 7);
}

TEST_F(MessageStreamTest, CutsSeveralMessagesAndAPiece) {
  const auto third = message(3, 8);
  client_->send_bytes(
      RawVfioClient::join({message(1), message(2, 100), std::span(third).first(9)}));
  fill();
  EXPECT_EQ(next_id(), 1);
  EXPECT_EQ(next_id(), 2);
  EXPECT_EQ(next_id(), -1);
  client_->send_bytes(std::span(third).subspan(9));
  fill();
  EXPECT_EQ(next_id(), 3);
}

TEST_F(MessageStreamTest, GrowsForALongMessageAndNoFurther) {
  const auto big = message(1, kMaxMessageBytes - sizeof(Header));
  for (std::size_t at = 0; at < big.size();) {
    const std::size_t piece = std::min<std::size_t>(10'000, big.size() - at);
    ASSERT_TRUE(client_->send_bytes(std::span(big).subspan(at, piece)));
    at += piece;
    EXPECT_EQ(next_id(), -1);
    EXPECT_NE(fill(), Fill::kFailed);
    while (at == big.size() && !stream_.has_next()) fill();
  }
  EXPECT_EQ(next_id(), 1);
}

TEST_F(MessageStreamTest, GivesDescriptorsToTheirMessage) {
  client_->send_bytes(message(1));
  client_->send_bytes(message(2), events(2));
  client_->send_bytes(message(3));
  client_->send_bytes(message(4), events(1));
  std::array<std::size_t, 5> counts{};
  for (int left = 4; left > 0;) {
    const int id = next_id();
    if (id < 0) {
      fill();
      continue;
    }
    counts[static_cast<std::size_t>(id)] = fds_.size();
    --left;
  }
  EXPECT_EQ(counts, (std::array<std::size_t, 5>{0, 0, 2, 0, 1}));
}

TEST_F(MessageStreamTest, KeepsDescriptorsUntilTheirMessageIsWhole) {
  const auto whole = message(9, 10);
  client_->send_bytes(std::span(whole).first(3), events(2));
  fill();
  EXPECT_EQ(next_id(), -1);
  client_->send_bytes(std::span(whole).subspan(3));
  fill();
  EXPECT_EQ(next_id(), 9);
  EXPECT_EQ(fds_.size(), 2U);
}

TEST_F(MessageStreamTest, DescriptorsMayComeWithEveryPieceOfAMessage) {
  const auto whole = message(9, 8);
  for (const std::byte& byte : whole) {
    client_->send_bytes({&byte, 1}, events(1));
    fill();
  }
  EXPECT_EQ(next_id(), 9);
  EXPECT_EQ(fds_.size(), kMaxMessageFds);
  EXPECT_TRUE(fds_lost_) << "there were 24";
}

TEST_F(MessageStreamTest, DescriptorsOfTheNextMessageStayWithIt) {
  const auto first = message(1, 8);
  client_->send_bytes(std::span(first).first(10), events(1));
  fill();
  EXPECT_EQ(next_id(), -1);
  client_->send_bytes(RawVfioClient::join({std::span(first).subspan(10), message(2)}), events(3));
  fill();
  EXPECT_EQ(next_id(), 1);
  EXPECT_EQ(fds_.size(), 1U);
  EXPECT_EQ(next_id(), 2);
  EXPECT_EQ(fds_.size(), 3U);
}

TEST_F(MessageStreamTest, TakesSixteenDescriptorsAndMarksTheLossOfMore) {
  client_->send_bytes(message(1), events(16));
  fill();
  EXPECT_EQ(next_id(), 1);
  EXPECT_EQ(fds_.size(), 16U);
  EXPECT_FALSE(fds_lost_);
  client_->send_bytes(message(2), events(17));
  fill();
  EXPECT_EQ(next_id(), 2);
  EXPECT_TRUE(fds_lost_);
  client_->send_bytes(message(3));
  fill();
  EXPECT_EQ(next_id(), 3);
  EXPECT_FALSE(fds_lost_) << "the loss was that of another message";
}

TEST_F(MessageStreamTest, DescriptorsCloseOnExec) {
  client_->send_bytes(message(1), events(1));
  fill();
  EXPECT_EQ(next_id(), 1);
  ASSERT_EQ(fds_.size(), 1U);
  EXPECT_EQ(fcntl(fds_[0].get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_F(MessageStreamTest, AnImpossibleSizeIsTheEnd) {
  for (const std::uint32_t size : {0U, 15U, kMaxMessageBytes + 1, 0xFFFFFFFFU}) {
    MessageStream stream;
    const Header header{.id = {}, .command = Le16(9), .size = Le32(size), .flags = {}, .error = {}};
    client_->send_bytes(RawVfioClient::bytes_of(header));
    stream.fill(ours_.get());
    std::array<std::byte, sizeof(Header)> seen;
    EXPECT_EQ(recv(ours_.get(), seen.data(), seen.size(), 0), static_cast<ssize_t>(seen.size()));
    EXPECT_TRUE(stream.has_next()) << "there is something to say";
    const auto next = stream.next();
    ASSERT_FALSE(next) << size;
    EXPECT_NE(next.error().find(std::to_string(size) + " bytes (command 9)"), std::string::npos);
  }
}

}  // namespace
}  // namespace paravane::vfio_user
