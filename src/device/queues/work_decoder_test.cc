#include "device/queues/work_decoder.h"

#include <gtest/gtest.h>

#include <cstring>

namespace paravane::device {
namespace {

using verbs::WcStatus;
using verbs::WrOpcode;

constexpr WorkDecoder::Spec kUserRc{.poster = Poster::kUser,
                                    .datagrams = false,
                                    .protection_domain = 7,
                                    .max_send_sges = 4,
                                    .max_receive_sges = 2};
constexpr WorkDecoder::Spec kKernelRc{.poster = Poster::kKernel,
                                      .datagrams = false,
                                      .protection_domain = 7,
                                      .max_send_sges = 4,
                                      .max_receive_sges = 2};
constexpr WorkDecoder::Spec kUserUd{.poster = Poster::kUser,
                                    .datagrams = true,
                                    .protection_domain = 7,
                                    .max_send_sges = 4,
                                    .max_receive_sges = 2};

// Every byte that does not belong to the opcode is stale.
abi::SendHeader stale_header(std::uint32_t opcode) {
  abi::SendHeader header;
  std::memset(static_cast<void*>(&header), 0xEE, sizeof(header));
  header.wr_id.set(0xFEDC'BA98'7654'3210);
  header.num_sge.set(1);
  header.opcode.set(opcode);
  header.send_flags.set(abi::kSendSignaled);
  return header;
}

template <typename Body>
void set_body(const Body& body, abi::SendHeader& header) {
  std::memcpy(header.body.data(), &body, sizeof(body));
}

TEST(WorkDecoder, AtomicsMayBeTakenAway) {
  for (const bool atomics : {true, false}) {
    WorkDecoder::Spec spec = kUserRc;
    spec.atomics = atomics;
    for (const std::uint32_t opcode : {abi::kWrCompareSwap, abi::kWrFetchAdd}) {
      verbs::SendRequest request;
      WorkDecoder(spec).decode_send(stale_header(opcode), request);
      EXPECT_EQ(request.fault == WcStatus::kSuccess, atomics);
    }
    verbs::SendRequest write;
    WorkDecoder(spec).decode_send(stale_header(abi::kWrRdmaWrite), write);
    EXPECT_EQ(write.fault, WcStatus::kSuccess);
  }
}

TEST(WorkDecoder, ReadsAWrite) {
  abi::RdmaBody body{};
  body.remote_addr.set(0x1'2345'6789);
  body.rkey.set(0xABCD01);
  auto header = stale_header(abi::kWrRdmaWrite);
  set_body(body, header);
  verbs::SendRequest request;

  EXPECT_EQ(WorkDecoder(kUserRc).decode_send(header, request), 1u);
  EXPECT_EQ(request.wr_id, 0xFEDC'BA98'7654'3210);
  EXPECT_EQ(request.opcode, WrOpcode::kRdmaWrite);
  EXPECT_EQ(request.fault, WcStatus::kSuccess);
  EXPECT_TRUE(request.signaled);
  EXPECT_EQ(request.remote_addr, 0x1'2345'6789u);
  EXPECT_EQ(request.rkey, 0xABCD01u);
}

TEST(WorkDecoder, C61_ImmediateDataIsKeptByteForByte) {
  auto header = stale_header(abi::kWrSendWithImm);
  header.ex = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  verbs::SendRequest request;
  WorkDecoder(kUserRc).decode_send(header, request);

  EXPECT_EQ(request.opcode, WrOpcode::kSendWithImm);
  EXPECT_EQ(request.imm, header.ex);
}

TEST(WorkDecoder, C68_InlineChangesNothing) {
  auto header = stale_header(abi::kWrSend);
  header.send_flags.set(abi::kSendInline | abi::kSendSolicited | abi::kSendFence);
  verbs::SendRequest request;

  EXPECT_EQ(WorkDecoder(kUserRc).decode_send(header, request), 1u);
  EXPECT_EQ(request.fault, WcStatus::kSuccess);
  EXPECT_FALSE(request.signaled);
  EXPECT_TRUE(request.solicited);
  EXPECT_TRUE(request.fence);
}

TEST(WorkDecoder, C59_OpcodesFrom7OnAreNotForUsers) {
  for (std::uint32_t opcode = 7; opcode < 40; ++opcode) {
    verbs::SendRequest request;
    EXPECT_EQ(WorkDecoder(kUserRc).decode_send(stale_header(opcode), request), 0u);
    EXPECT_EQ(request.fault, WcStatus::kLocalQpOperationError) << opcode;
  }
}

TEST(WorkDecoder, C75_ReadsAnAtomic) {
  abi::AtomicBody body{};
  body.remote_addr.set(0x1'2345'6788);
  body.compare_add.set(0x1111'2222'3333'4444);
  body.swap.set(0x5555'6666'7777'8888);
  body.rkey.set(0xABCD01);
  for (const std::uint32_t opcode : {abi::kWrCompareSwap, abi::kWrFetchAdd}) {
    auto header = stale_header(opcode);
    set_body(body, header);
    verbs::SendRequest request;
    EXPECT_EQ(WorkDecoder(kUserRc).decode_send(header, request), 1u);
    EXPECT_EQ(request.fault, WcStatus::kSuccess);
    EXPECT_TRUE(verbs::is_atomic(request.opcode));
    EXPECT_EQ(request.remote_addr, 0x1'2345'6788u);
    EXPECT_EQ(request.compare_add, 0x1111'2222'3333'4444u);
    EXPECT_EQ(request.swap, 0x5555'6666'7777'8888u);
    EXPECT_EQ(request.rkey, 0xABCD01u);
  }
}

TEST(WorkDecoder, C74_KeyToInvalidateIsANumber) {
  auto header = stale_header(abi::kWrSendWithInvalidate);
  header.ex = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  verbs::SendRequest request;
  WorkDecoder(kKernelRc).decode_send(header, request);
  EXPECT_EQ(request.fault, WcStatus::kSuccess);
  EXPECT_EQ(request.rkey, 0x0403'0201u);
}

TEST(WorkDecoder, C73_ReadsARegistration) {
  abi::FastRegisterBody body{};
  body.iova_start.set(0x1234'5010);
  body.pl_pdir_dma.set(0x77'7000);
  body.page_shift.set(12);
  body.page_list_len.set(3);
  body.length.set(9000);
  body.access_flags.set(0xFFFF'FF07);
  body.rkey.set(0xABCD01);
  auto header = stale_header(abi::kWrFastRegister);
  set_body(body, header);
  verbs::SendRequest request;
  WorkDecoder(kKernelRc).decode_send(header, request);
  EXPECT_EQ(request.fault, WcStatus::kSuccess);
  EXPECT_EQ(request.registration.key, 0xABCD01u);
  EXPECT_EQ(request.registration.access, 7u);
  EXPECT_EQ(request.registration.start, 0x1234'5010u);
  EXPECT_EQ(request.registration.length, 9000u);
  EXPECT_EQ(request.registration.pages, 3u);
  EXPECT_EQ(request.registration.directory, 0x77'7000u);

  body.page_shift.set(21);
  set_body(body, header);
  WorkDecoder(kKernelRc).decode_send(header, request);
  EXPECT_EQ(request.fault, WcStatus::kMemoryWindowBindError);
}

TEST(WorkDecoder, WhatIsNotOfferedIsNotExecutedForTheKernelEither) {
  for (const std::uint32_t opcode : {7u, 9u, 12u, 13u, 0xFFFF'FFFFu}) {
    verbs::SendRequest request;
    EXPECT_EQ(WorkDecoder(kKernelRc).decode_send(stale_header(opcode), request), 0u);
    EXPECT_EQ(request.fault, WcStatus::kLocalQpOperationError) << opcode;
  }
}

TEST(WorkDecoder, RemoteAccessHasNoPlaceInADatagram) {
  for (const std::uint32_t opcode : {0u, 1u, 4u, 5u, 6u}) {
    verbs::SendRequest request;
    WorkDecoder(kUserUd).decode_send(stale_header(opcode), request);
    EXPECT_EQ(request.fault, WcStatus::kLocalQpOperationError) << opcode;
  }
}

abi::UdBody datagram_body(std::uint32_t port_pd) {
  abi::UdBody body{};
  body.remote_qpn.set(0xFF00'0011);  // 24 bits count
  body.remote_qkey.set(0x8001'0000);
  body.av.port_pd.set(port_pd);
  body.av.sl_tclass_flowlabel.set(0x3AB'12345u);
  body.av.dgid[15] = 9;
  body.av.gid_index = 2;
  body.av.hop_limit = 64;
  return body;
}

TEST(WorkDecoder, ReadsADatagramsAddress) {
  auto header = stale_header(abi::kWrSend);
  set_body(datagram_body(0x0100'0007), header);
  verbs::SendRequest request;

  EXPECT_EQ(WorkDecoder(kUserUd).decode_send(header, request), 1u);
  EXPECT_EQ(request.remote_qpn, 0x11u);
  EXPECT_EQ(request.remote_qkey, 0x8001'0000u);
  EXPECT_EQ(request.av.flow_label, 0x12345u);
  EXPECT_EQ(request.av.traffic_class, 0xABu);
  EXPECT_EQ(request.av.service_level, 3u);
  EXPECT_EQ(request.av.dgid.raw[15], 9u);
  EXPECT_EQ(request.av.sgid_index, 2u);
}

TEST(WorkDecoder, AnAddressOfAnotherProtectionDomainIsRefused) {
  auto header = stale_header(abi::kWrSend);
  set_body(datagram_body(0x0100'0008), header);
  verbs::SendRequest request;

  EXPECT_EQ(WorkDecoder(kUserUd).decode_send(header, request), 0u);
  EXPECT_EQ(request.fault, WcStatus::kLocalQpOperationError);
}

TEST(WorkDecoder, MoreSgesThanTheQueueHasAreAFault) {
  auto header = stale_header(abi::kWrSend);
  header.num_sge.set(5);
  verbs::SendRequest request;
  EXPECT_EQ(WorkDecoder(kUserRc).decode_send(header, request), 0u);
  EXPECT_EQ(request.fault, WcStatus::kLocalQpOperationError);

  abi::ReceiveHeader receive{};
  receive.num_sge.set(0xFFFF'FFFF);
  verbs::ReceiveRequest taken;
  EXPECT_EQ(WorkDecoder(kUserRc).decode_receive(receive, taken), 0u);
  EXPECT_EQ(taken.fault, WcStatus::kLocalQpOperationError);
}

TEST(WorkDecoder, C62_NoSgesAreNoFault) {
  auto header = stale_header(abi::kWrSend);
  header.num_sge.set(0);
  verbs::SendRequest request;
  request.sges.count = 3;  // of an earlier request in the same object

  EXPECT_EQ(WorkDecoder(kUserRc).decode_send(header, request), 0u);
  EXPECT_EQ(request.fault, WcStatus::kSuccess);
  EXPECT_EQ(request.sges.count, 0u);
}

TEST(WorkDecoder, AFaultDoesNotOutliveItsRequest) {
  verbs::SendRequest request;
  WorkDecoder(kUserRc).decode_send(stale_header(15), request);
  WorkDecoder(kUserRc).decode_send(stale_header(abi::kWrSend), request);

  EXPECT_EQ(request.fault, WcStatus::kSuccess);
}

}  // namespace
}  // namespace paravane::device
