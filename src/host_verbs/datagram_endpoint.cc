#include "host_verbs/datagram_endpoint.h"

#include <algorithm>
#include <cassert>

#include "verbs/grh.h"

namespace paravane::host_verbs {
namespace {

constexpr std::uint32_t kServiceQkey = 0x8001'0000;  // IBTA 10.2.5
constexpr std::size_t kReceivedBytes = verbs::kGrhBytes + kMadBytes;

// The sender's address, as it stands in the network header before a datagram (verbs/grh.h).
std::optional<verbs::Gid> source_of(const verbs::Completion& completion,
                                    std::span<const std::byte> header) {
  verbs::Gid gid;
  const auto put = [&](std::size_t from, std::size_t count, std::size_t to) {
    for (std::size_t i = 0; i < count; ++i) {
      gid.raw[to + i] = std::to_integer<std::uint8_t>(header[from + i]);
    }
  };
  switch (completion.network_header) {
    case verbs::NetworkHeader::kRoceV1:
    case verbs::NetworkHeader::kIpv6: put(8, 16, 0); return gid;
    case verbs::NetworkHeader::kIpv4:
      gid.raw[10] = gid.raw[11] = 0xFF;
      put(20 + 12, 4, 12);
      return gid;
  }
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<DatagramEndpoint>> DatagramEndpoint::make(ServiceAdapter& adapter,
                                                                 Instant now) {
  std::unique_ptr<DatagramEndpoint> made(new DatagramEndpoint(adapter));
  if (Status begun = made->begin(now); !begun) return std::unexpected(begun.error());
  return made;
}

Status DatagramEndpoint::begin(Instant now) {
  Places& messages = adapter_.memory().messages();
  while (places_.size() < kReceives + kSends) {
    const auto place = messages.take();
    if (!place) return fail(Errc::kResourceExhausted, "no room for management datagrams");
    places_.push_back(*place);
  }
  free_sends_.assign(places_.begin() + kReceives, places_.end());
  auto qp = adapter_.adapter().create_qp({.type = verbs::QpType::kGeneralServices,
                                          .pd = adapter_.pd(),
                                          .tag = verbs::kGsiQpNumber,
                                          .number = verbs::kGsiQpNumber,
                                          .send_cq = &sent_,
                                          .receive_cq = &received_,
                                          .work = &work_,
                                          .signal_all = true});
  if (!qp) return std::unexpected(qp.error());
  qp_ = std::move(*qp);
  using verbs::QpState;
  for (const QpState next : {QpState::kInit, QpState::kReadyToReceive, QpState::kReadyToSend}) {
    verbs::QpAttrMask mask = verbs::kAttrState;
    if (next == QpState::kInit) mask |= verbs::kAttrPkeyIndex | verbs::kAttrQkey;
    if (next == QpState::kReadyToSend) mask |= verbs::kAttrSendPsn;
    verbs::QpAttributes attributes;
    attributes.state = next;
    attributes.qkey = kServiceQkey;
    if (Status moved = qp_->modify(attributes, mask, now); !moved) return moved;
  }
  for (std::uint32_t i = 0; i < kReceives; ++i) post_receive(places_[i]);
  return {};
}

DatagramEndpoint::~DatagramEndpoint() {
  qp_.reset();
  for (const std::uint32_t place : places_) adapter_.memory().messages().give_back(place);
}

void DatagramEndpoint::post_receive(std::uint32_t place) {
  verbs::ReceiveRequest request;
  request.wr_id = place;
  request.sges.count = 1;
  request.sges.entries[0] = {.addr = adapter_.memory().message(place).value,
                             .length = kReceivedBytes,
                             .lkey = adapter_.local_key()};
  work_.post_receive(request);
  qp_->kick();
}

bool DatagramEndpoint::send(const verbs::Gid& to, std::span<const std::byte, kMadBytes> mad) {
  if (free_sends_.empty()) {
    counters_.full.add();
    return false;
  }
  const auto way = adapter_.way_to(to);
  if (!way) {
    counters_.unresolved.add();
    return false;
  }
  const std::uint32_t place = free_sends_.back();
  if (!adapter_.memory().write(place, mad)) return false;
  free_sends_.pop_back();
  verbs::SendRequest request;
  request.wr_id = place;
  request.opcode = verbs::WrOpcode::kSend;
  request.signaled = true;
  request.remote_qpn = verbs::kGsiQpNumber;
  request.remote_qkey = kServiceQkey;
  request.av = way->address;
  request.sges.count = 1;
  request.sges.entries[0] = {.addr = adapter_.memory().message(place).value,
                             .length = kMadBytes,
                             .lkey = adapter_.local_key()};
  work_.post_send(request);
  qp_->kick();
  counters_.sent.add();
  return true;
}

std::size_t DatagramEndpoint::deliver(std::size_t limit, const Take& take) {
  std::size_t count = 0;
  while (const auto completion = sent_.take()) {
    free_sends_.push_back(static_cast<std::uint32_t>(completion->wr_id));
    ++count;
  }
  for (std::size_t taken = 0; taken < limit; ++taken) {
    const auto completion = received_.take();
    if (!completion) break;
    ++count;
    take_one(*completion, take);
    // A receive that was flushed or failed ends with the queue pair, which nothing but its owner
    // takes out of RTS; a peer cannot cause an error here.
    post_receive(static_cast<std::uint32_t>(completion->wr_id));
  }
  return count;
}

void DatagramEndpoint::take_one(const verbs::Completion& completion, const Take& take) {
  std::array<std::byte, kReceivedBytes> bytes;
  const bool is_whole = completion.status == verbs::WcStatus::kSuccess &&
                        completion.byte_len == kReceivedBytes && completion.with_grh &&
                        completion.source_qpn == verbs::kGsiQpNumber;
  if (!is_whole || !adapter_.memory().read(static_cast<std::uint32_t>(completion.wr_id), bytes)) {
    counters_.odd.add();
    return;
  }
  const auto from = source_of(completion, std::span(bytes).first<verbs::kGrhBytes>());
  if (!from) {
    counters_.odd.add();
    return;
  }
  counters_.received.add();
  Mad mad;
  std::ranges::copy(std::span(bytes).subspan<verbs::kGrhBytes>(), mad.begin());
  take(*from, mad);
}

}  // namespace paravane::host_verbs
