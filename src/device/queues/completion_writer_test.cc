#include "device/queues/completion_writer.h"

#include <gtest/gtest.h>

namespace paravane::device {
namespace {

verbs::Completion datagram_received() {
  verbs::Completion completion;
  completion.wr_id = 0xFFFF'8880'1234'5678;
  completion.qp_tag = 5;
  completion.opcode = verbs::WcOpcode::kReceive;
  completion.with_grh = true;
  completion.with_imm = true;
  completion.network_header = verbs::NetworkHeader::kIpv4;
  completion.byte_len = 140;
  completion.imm = {std::byte{4}, std::byte{3}, std::byte{2}, std::byte{1}};
  completion.source_qpn = 0x123456;
  return completion;
}

TEST(CompletionWriter, FillsWhatTheGuestReads) {
  const abi::Cqe cqe = make_cqe(datagram_received(), Reader::kKernel);

  EXPECT_EQ(cqe.wr_id.get(), 0xFFFF'8880'1234'5678u);
  EXPECT_EQ(cqe.qp.get(), 5u);
  EXPECT_EQ(cqe.opcode.get(), 128u);
  EXPECT_EQ(cqe.status.get(), 0u);
  EXPECT_EQ(cqe.byte_len.get(), 140u);
  EXPECT_EQ(cqe.imm_data[0], std::byte{4});
  EXPECT_EQ(cqe.src_qp.get(), 0x123456u);
  EXPECT_EQ(cqe.port_num, 1u);
  EXPECT_EQ(cqe.network_hdr_type, 1u);
}

TEST(CompletionWriter, UsersSeeNoFlagThatMeansSomethingElseToThem) {
  EXPECT_EQ(make_cqe(datagram_received(), Reader::kKernel).wc_flags.get(), 1u | 2u | 64u);
  EXPECT_EQ(make_cqe(datagram_received(), Reader::kUser).wc_flags.get(), 1u | 2u);
}

TEST(CompletionWriter, ImmediateOfACompletionWithoutOneIsZero) {
  verbs::Completion completion = datagram_received();
  completion.with_imm = false;

  EXPECT_EQ(make_cqe(completion, Reader::kUser).imm_data[0], std::byte{0});
}

TEST(CompletionWriter, OpcodesOfCompletionsAreNotThoseOfRequests) {
  EXPECT_EQ(cqe_opcode(verbs::WcOpcode::kSend), 0u);
  EXPECT_EQ(cqe_opcode(verbs::WcOpcode::kRdmaWrite), 1u);
  EXPECT_EQ(cqe_opcode(verbs::WcOpcode::kRdmaRead), 2u);
  EXPECT_EQ(cqe_opcode(verbs::WcOpcode::kCompareAndSwap), 3u);
  EXPECT_EQ(cqe_opcode(verbs::WcOpcode::kFetchAndAdd), 4u);
  EXPECT_EQ(cqe_opcode(verbs::WcOpcode::kLocalInvalidate), 7u);
  EXPECT_EQ(cqe_opcode(verbs::WcOpcode::kFastRegister), 8u);
  EXPECT_EQ(cqe_opcode(verbs::WcOpcode::kReceive), 128u);
  EXPECT_EQ(cqe_opcode(verbs::WcOpcode::kReceiveRdmaWithImm), 129u);
}

TEST(CompletionWriter, StatusValuesAreThoseOfTheGuest) {
  verbs::Completion completion;
  completion.status = verbs::WcStatus::kRnrRetryExceeded;
  EXPECT_EQ(make_cqe(completion, Reader::kUser).status.get(), 13u);
}

}  // namespace
}  // namespace paravane::device
