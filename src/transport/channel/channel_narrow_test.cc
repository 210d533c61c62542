// A socket that takes and gives little at a time and then wants to be waited for: what is
// written and read in pieces is what was meant.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "testing/engine_rig.h"
#include "testing/tcp_rig.h"
#include "transport/channel/stream.h"

namespace paravane::fake {
namespace {

using testing::Each;
using transport_channel::Stream;
using verbs::WcStatus;

// Moves at most so many bytes with every second call, and nothing with the others.
class NarrowStream final : public Stream {
 public:
  NarrowStream(std::unique_ptr<Stream> stream, std::size_t bytes)
      : stream_(std::move(stream)), bytes_(bytes) {}

  int fd() const override { return stream_->fd(); }
  IoResult read(std::span<const iovec> to) override { return stream_->read(first(to)); }
  IoResult write(std::span<const iovec> from) override {
    blocks_ = !blocks_;
    if (blocks_) return {.kind = IoResult::Kind::kWouldBlock};
    return stream_->write(first(from));
  }

 private:
  std::span<const iovec> first(std::span<const iovec> all) {
    std::size_t left = bytes_;
    std::size_t count = 0;
    for (; count < std::min(all.size(), pieces_.size()) && left > 0; ++count) {
      pieces_[count] = all[count];
      pieces_[count].iov_len = std::min(left, all[count].iov_len);
      left -= pieces_[count].iov_len;
    }
    return std::span(pieces_).first(count);
  }

  std::unique_ptr<Stream> stream_;
  std::size_t bytes_;
  std::array<iovec, 128> pieces_;
  bool blocks_ = false;
};

struct Narrow {
  bool sealed;
  std::size_t bytes;
};

class TcpNarrow : public testing::TestWithParam<Narrow> {};

TEST_P(TcpNarrow, WhatComesInPiecesIsWhole) {
  TcpRig rig(GetParam().sealed);
  rig.cut();
  rig.wrap_streams([](std::unique_ptr<Stream> stream) {
    return std::make_unique<NarrowStream>(std::move(stream), GetParam().bytes);
  });
  rig.join();
  const std::unique_ptr<EngineQp> qp_a = rig.a().queue_pair();
  const std::unique_ptr<EngineQp> qp_b = rig.b().queue_pair();
  TcpRig::connect(rig.a(), *qp_a, rig.b(), *qp_b);
  constexpr std::uint64_t kLength = 5'000;
  const EngineBuffer from = rig.a().buffer(kLength, kEveryRight, 17);
  const EngineBuffer to = rig.b().buffer(kLength, kEveryRight, 99);
  const EngineBuffer back = rig.a().buffer(kLength, kEveryRight, 5);
  const EngineBuffer inbox = rig.b().buffer(64);
  rig.a().fill(from, 3);
  qp_a->post(write_request(1, {from.whole()}, to.start, to.key));
  qp_a->post(read_request(2, {back.whole()}, to.start, to.key));
  qp_b->post(receive_request(3, {inbox.whole()}));
  qp_a->post(send_request(4, {from.sge(64, 64)}));
  ASSERT_TRUE(rig.run(100'000));

  EXPECT_THAT(qp_a->sends.statuses(),
              testing::ElementsAre(WcStatus::kSuccess, WcStatus::kSuccess, WcStatus::kSuccess));
  EXPECT_EQ(rig.a().read(back, 0, kLength), rig.a().read(from, 0, kLength));
  EXPECT_EQ(rig.b().read(inbox, 0, 64), rig.a().read(from, 64, 64));
  EXPECT_EQ(qp_a->qp->stats().retries, 0u);
  EXPECT_THAT(rig.losses(0), Each("cut"));
  EXPECT_THAT(rig.losses(1), Each("cut"));
}

TEST_P(TcpNarrow, DatagramsThatComeInPiecesAreWhole) {
  TcpRig rig(GetParam().sealed);
  rig.cut();
  rig.wrap_streams([](std::unique_ptr<Stream> stream) {
    return std::make_unique<NarrowStream>(std::move(stream), GetParam().bytes);
  });
  rig.join();
  ASSERT_TRUE(rig.run(100'000)) << "nobody waits for a channel with a datagram";
  const auto from = rig.a().queue_pair(verbs::QpType::kUnreliableDatagram);
  const auto to = rig.b().queue_pair(verbs::QpType::kUnreliableDatagram);
  ASSERT_TRUE(bring_up(*from->qp, verbs::QpState::kReadyToSend, default_attributes()));
  ASSERT_TRUE(bring_up(*to->qp, verbs::QpState::kReadyToSend, default_attributes()));
  const EngineBuffer payload = rig.a().buffer(4096, kEveryRight, 17);
  const EngineBuffer inbox = rig.b().buffer(3 * 4136, kEveryRight, 99);
  rig.a().fill(payload, 3);
  const std::array<std::uint64_t, 3> lengths{4096, 100, 4096};
  for (std::uint64_t i = 0; i < lengths.size(); ++i) {
    to->post(receive_request(i, {inbox.sge(i * 4136, 4136)}));
    verbs::SendRequest request = send_request(i, {payload.sge(0, lengths[i])});
    request.remote_qpn = to->qp->number();
    request.remote_qkey = default_attributes().qkey;
    request.av.dgid = rig.b().gid();
    from->post(request);
  }
  ASSERT_TRUE(rig.run(100'000));

  EXPECT_THAT(from->sends.statuses(),
              testing::ElementsAre(WcStatus::kSuccess, WcStatus::kSuccess, WcStatus::kSuccess));
  ASSERT_EQ(to->receives.size(), lengths.size());
  for (std::uint64_t i = 0; i < lengths.size(); ++i) {
    EXPECT_EQ(to->receives.at(i).wr_id, i) << "they come in their order";
    EXPECT_EQ(rig.b().read(inbox, i * 4136 + 40, lengths[i]), rig.a().read(payload, 0, lengths[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, TcpNarrow,
                         testing::Values(Narrow{true, 1}, Narrow{true, 31}, Narrow{true, 32},
                                         Narrow{true, 128}, Narrow{true, 5'000},
                                         Narrow{true, 1 << 20}, Narrow{false, 1}, Narrow{false, 32},
                                         Narrow{false, 5'000}, Narrow{false, 1 << 20}));

}  // namespace
}  // namespace paravane::fake
