#include "transport/hca/trunk_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "testing/fake_trunk.h"

namespace paravane::transport_hca {
namespace {

using Kind = IoResult::Kind;

iovec piece(std::span<std::byte> bytes) {
  return {.iov_base = bytes.data(), .iov_len = bytes.size()};
}

std::vector<std::byte> counted(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  return bytes;
}

class TrunkStreamTest : public testing::Test {
 protected:
  // Its ports, which a test plays.
  std::unique_ptr<TrunkPort> raw_port() { return trunks_[1]->port(); }

  static IoResult write(TrunkStream& stream, std::span<std::byte> bytes) {
    const std::array from{piece(bytes)};
    return stream.write(from);
  }
  static IoResult read(TrunkStream& stream, std::span<std::byte> bytes) {
    const std::array to{piece(bytes)};
    return stream.read(to);
  }
  static bool is_readable(const TrunkStream& stream) {
    pollfd look{.fd = stream.fd(), .events = POLLIN, .revents = 0};
    return ::poll(&look, 1, 0) == 1;
  }

  std::array<std::unique_ptr<fake::FakeTrunk>, 2> trunks_ = fake::FakeTrunk::make_pair();
  TrunkStream a_{trunks_[0]->port()};
  std::array<std::byte, 1024> small_{};
};

TEST_F(TrunkStreamTest, BytesArriveInOrderWhateverThePiecesAre) {
  TrunkStream b(trunks_[1]->port());
  std::minstd_rand random(5);
  const std::vector<std::byte> all = counted(9'000'000);
  std::vector<std::byte> got(all.size());
  std::size_t written = 0;
  std::size_t have = 0;
  std::vector<std::byte> from = all;
  for (int turns = 0; have < all.size(); ++turns) {
    ASSERT_LT(turns, 100'000);
    const std::size_t most = 1 + random() % 200'000;
    const std::span out = std::span(from).subspan(written, std::min(most, all.size() - written));
    const std::size_t half = out.size() / 3;
    const std::array pieces{piece(out.first(half)), piece(out.subspan(half))};
    if (!out.empty()) {
      const IoResult result = a_.write(pieces);
      ASSERT_NE(result.kind, Kind::kBroken) << a_.problem();
      written += result.bytes;
    }
    const std::size_t room = std::min<std::size_t>(1 + random() % 200'000, all.size() - have);
    const std::span in = std::span(got).subspan(have, room);
    const std::array to{piece(in.first(room / 2)), piece(in.subspan(room / 2))};
    const IoResult result = b.read(to);
    ASSERT_NE(result.kind, Kind::kBroken) << b.problem();
    have += result.bytes;
  }
  EXPECT_EQ(got, all);
  EXPECT_EQ(trunks_[0]->waited(), 0U) << "a message is sent only where there is a buffer";
}

TEST_F(TrunkStreamTest, BothEndsGoOnThoughBothAreFull) {
  TrunkStream b(trunks_[1]->port());
  std::vector<std::byte> out = counted(256 * 1024);
  std::vector<std::byte> in(out.size());
  std::array<std::uint64_t, 2> written{};
  std::array<std::uint64_t, 2> have{};
  const std::array<TrunkStream*, 2> ends{&a_, &b};
  for (int turns = 0; turns < 200; ++turns) {
    for (unsigned end = 0; end < 2; ++end) {
      while (true) {
        const IoResult result = write(*ends.at(end), out);
        ASSERT_NE(result.kind, Kind::kBroken);
        if (result.kind == Kind::kWouldBlock) break;
        written.at(end) += result.bytes;
      }
    }
    for (unsigned end = 0; end < 2; ++end) have.at(end) += read(*ends.at(end), in).bytes;
  }
  for (unsigned end = 0; end < 2; ++end) {
    EXPECT_GT(have.at(end), 200U * 100'000);
    EXPECT_GE(written.at(end), have.at(1 - end));
    EXPECT_EQ(trunks_.at(end)->waited(), 0U);
  }
}

TEST_F(TrunkStreamTest, OneThatOnlyReadsLetsTheOtherSend) {
  TrunkStream b(trunks_[1]->port());
  std::vector<std::byte> in(kTrunkBufferBytes);
  for (std::uint32_t i = 0; i < 10 * kTrunkBuffers; ++i) {
    ASSERT_EQ(write(a_, small_).bytes, small_.size()) << i;
    ASSERT_EQ(read(b, in).bytes, small_.size()) << i;
  }
  EXPECT_EQ(trunks_[1]->sent(), trunks_[1]->sent_empty());
  EXPECT_THAT(trunks_[1]->sent(), testing::AllOf(testing::Ge(36U), testing::Le(44U)));
}

TEST_F(TrunkStreamTest, AfterWouldBlockTheDescriptorTells) {
  TrunkStream b(trunks_[1]->port());
  std::array<std::byte, 64> in{};
  EXPECT_EQ(read(b, in).kind, Kind::kWouldBlock);
  EXPECT_FALSE(is_readable(b));
  write(a_, small_);
  EXPECT_TRUE(is_readable(b));
  EXPECT_EQ(read(b, in).bytes, in.size());
  std::vector<std::byte> rest(small_.size());
  const IoResult last = read(b, rest);
  EXPECT_EQ(last.bytes, small_.size() - in.size());
  EXPECT_TRUE(last.was_all);
  EXPECT_FALSE(is_readable(b)) << "the event was taken";
  write(a_, small_);
  EXPECT_TRUE(is_readable(b)) << "and armed again";
}

TEST_F(TrunkStreamTest, AFullOneIsToldWhenThereIsRoom) {
  TrunkStream b(trunks_[1]->port());
  std::vector<std::byte> out(std::size_t{kTrunkBuffers} * kTrunkBufferBytes);
  std::size_t written = 0;
  while (true) {
    const IoResult result = write(a_, out);
    if (result.kind == Kind::kWouldBlock) break;
    written += result.bytes;
  }
  EXPECT_EQ(written, std::size_t{kTrunkBuffers - 1} * kTrunkBufferBytes);
  EXPECT_FALSE(is_readable(a_));
  std::vector<std::byte> in(written);
  EXPECT_EQ(read(b, in).bytes, written);
  EXPECT_TRUE(is_readable(a_));
  EXPECT_EQ(write(a_, small_).bytes, small_.size());
}

TEST_F(TrunkStreamTest, WhatAWriteComesUponIsHeld) {
  TrunkStream b(trunks_[1]->port());
  std::vector<std::byte> out(std::size_t{kTrunkBuffers} * kTrunkBufferBytes);
  std::array<std::byte, 64> in{};
  EXPECT_EQ(read(a_, in).kind, Kind::kWouldBlock);
  write(b, small_);
  while (write(a_, out).kind != Kind::kWouldBlock) {
  }
  EXPECT_TRUE(a_.holds_bytes());
  EXPECT_EQ(read(a_, in).bytes, in.size());
}

// What has arrived may be lost with it: the next channel asks for it again.
TEST_F(TrunkStreamTest, AnAdapterThatFailsEndsTheStream) {
  TrunkStream b(trunks_[1]->port());
  write(a_, small_);
  trunks_[1]->fail();
  EXPECT_EQ(read(b, small_).kind, Kind::kBroken);
  EXPECT_EQ(b.problem(), "the RDMA adapter is gone");
  EXPECT_EQ(write(b, small_).kind, Kind::kBroken);
}

TEST_F(TrunkStreamTest, WithoutMemoryToRetireThePortItEndsAtOnce) {
  const auto held = std::make_shared<int>(0);
  {
    TrunkStream stream(trunks_[1]->port(),
                       [held](const std::shared_ptr<TrunkPort>& port, const auto&) {
                         EXPECT_NE(port, nullptr);
                         throw std::bad_alloc();
                       });
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(TrunkStreamTest, ACountThatCannotBeEndsTheStream) {
  for (const std::uint32_t count : {kTrunkBuffers + 1, kTrunkBuffers - 1, 0U, ~0U}) {
    auto trunks = fake::FakeTrunk::make_pair();
    TrunkStream stream(trunks[0]->port());
    ASSERT_TRUE(trunks[1]->port()->post_send(0, 8, count));
    EXPECT_EQ(read(stream, small_).kind, Kind::kBroken) << count;
    EXPECT_THAT(stream.problem(), testing::HasSubstr("buffers that it cannot have"));
  }
}

TEST_F(TrunkStreamTest, EmptyMessagesWithoutEndEndTheStream) {
  const std::unique_ptr<TrunkPort> peer = raw_port();
  for (std::uint32_t i = 0; i < 2 * kTrunkBuffers; ++i) {
    ASSERT_TRUE(peer->post_send(i % kTrunkBuffers, 0, kTrunkBuffers));
  }
  EXPECT_EQ(read(a_, small_).kind, Kind::kBroken);
  EXPECT_THAT(a_.problem(), testing::HasSubstr("messages that are empty"));
}

TEST_F(TrunkStreamTest, ShortMessagesAreChargedForAndEndACall) {
  const std::unique_ptr<TrunkPort> peer = raw_port();
  std::vector<std::byte> in(256 * 1024);
  for (std::uint32_t i = 0; i < kTrunkBuffers; ++i) {
    ASSERT_TRUE(peer->post_send(i, 1, kTrunkBuffers));
  }
  const IoResult result = read(a_, in);
  EXPECT_EQ(result.bytes, std::size_t{kTrunkBuffers});
  EXPECT_EQ(result.effort, std::size_t{kTrunkBuffers} * 1024);
}

}  // namespace
}  // namespace paravane::transport_hca
