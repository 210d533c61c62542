// The kernel cannot use memory for a moment, which is good again when it is looked at: a VMM
// can do that to its own guest. Nothing is taken for done that was not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "testing/engine_rig.h"
#include "testing/tcp_rig.h"
#include "transport/channel/stream.h"

namespace paravane::fake {
namespace {

using std::chrono::seconds;
using transport_channel::Stream;
using verbs::WcStatus;

constexpr std::uint64_t kLength = 1 << 20;

// Calls that move payload, until one finds the memory bad; unset: none does.
struct Fault {
  std::optional<int> write_in;
  std::optional<int> read_in;
};

class FaultyStream final : public Stream {
 public:
  FaultyStream(std::unique_ptr<Stream> stream, Fault& fault)
      : stream_(std::move(stream)), fault_(fault) {}
  int fd() const override { return stream_->fd(); }
  IoResult read(std::span<const iovec> to) override {
    return is_due(fault_.read_in, to) ? IoResult{.kind = IoResult::Kind::kBadMemory}
                                      : stream_->read(to);
  }
  IoResult write(std::span<const iovec> from) override {
    return is_due(fault_.write_in, from) ? IoResult{.kind = IoResult::Kind::kBadMemory}
                                         : stream_->write(from);
  }

 private:
  static bool is_due(std::optional<int>& in, std::span<const iovec> pieces) {
    std::size_t bytes = 0;
    for (const iovec& piece : pieces) bytes += piece.iov_len;
    if (!in || bytes <= wire::kMaxBlockBytes || (*in)-- > 0) return false;
    in.reset();
    return true;
  }

  std::unique_ptr<Stream> stream_;
  Fault& fault_;
};

// Without encryption, and with a seal on frames alone: payload passes no buffer of ours.
class TcpBadMemory : public testing::TestWithParam<bool> {
 protected:
  TcpBadMemory() {
    rig_.cut();
    rig_.wrap_ends([this](std::unique_ptr<Stream> stream, unsigned end) {
      return std::make_unique<FaultyStream>(std::move(stream), faults_.at(end));
    });
    rig_.join();
    verbs::QpAttributes attributes = default_attributes();
    attributes.timeout = 10;
    TcpRig::connect(rig_.a(), *qp_a_, rig_.b(), *qp_b_, attributes);
    rig_.a().fill(from_, 3);
    rig_.run();
  }

  std::array<Fault, 2> faults_{};
  TcpRig rig_{GetParam(), 64 << 20, false};
  std::unique_ptr<EngineQp> qp_a_ = rig_.a().queue_pair();
  std::unique_ptr<EngineQp> qp_b_ = rig_.b().queue_pair();
  const EngineBuffer from_ = rig_.a().buffer(kLength);
  const EngineBuffer to_ = rig_.b().buffer(kLength);
};

TEST_P(TcpBadMemory, WhatCannotBeSentFailsAndNothingAfterItIsDone) {
  qp_b_->post(receive_request(9, {}));
  faults_[0].write_in = 2;
  qp_a_->post(write_request(1, {from_.whole()}, to_.start, to_.key));
  qp_a_->post(send_request(2, {}));
  rig_.advance(seconds(1));
  EXPECT_EQ(qp_a_->sends.statuses(), (std::vector{WcStatus::kFatal, WcStatus::kFlushed}));
  EXPECT_EQ(qp_b_->receives.size(), 0u);
  EXPECT_EQ(rig_.losses(0), std::vector<std::string>{"cut"});
}

TEST_P(TcpBadMemory, AReadThatCannotBeAnsweredIsRefused) {
  faults_[0].write_in = 2;
  qp_b_->post(read_request(1, {to_.whole()}, from_.start, from_.key));
  rig_.advance(seconds(1));
  ASSERT_EQ(qp_b_->sends.size(), 1u);
  EXPECT_NE(qp_b_->sends.at(0).status, WcStatus::kSuccess);
  EXPECT_EQ(rig_.losses(0), std::vector<std::string>{"cut"});
}

TEST_P(TcpBadMemory, WhatWasPartlyThrownAwayIsAskedForAgain) {
  for (int in = 0; in < 6; ++in) {
    rig_.b().fill(to_, 99);
    qp_a_->sends.clear();
    faults_[1].read_in = in;
    qp_a_->post(write_request(1, {from_.whole()}, to_.start, to_.key));
    rig_.advance(seconds(1));
    ASSERT_EQ(qp_a_->sends.statuses(), std::vector{WcStatus::kSuccess});
    ASSERT_EQ(rig_.b().read(to_, 0, kLength), rig_.a().read(from_, 0, kLength)) << in;
    ASSERT_FALSE(faults_[1].read_in.has_value()) << "it was met";
  }
}

INSTANTIATE_TEST_SUITE_P(SealedOrNot, TcpBadMemory, testing::Bool());

}  // namespace
}  // namespace paravane::fake
