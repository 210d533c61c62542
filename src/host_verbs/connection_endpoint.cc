#include "host_verbs/connection_endpoint.h"

#include <array>
#include <cassert>
#include <utility>

namespace paravane::host_verbs {
namespace {

constexpr std::uint32_t kPathMtu1024 = 3;  // what connection managers agree on (connection/)
constexpr std::uint32_t kPathMtu4096 = 5;  // of ways without packets
constexpr std::uint8_t kMinRnrTimer = 12;  // 0.64 ms

}  // namespace

Result<std::unique_ptr<ConnectionEndpoint>> ConnectionEndpoint::make(ServiceAdapter& adapter,
                                                                     const Size& size,
                                                                     Instant now) {
  std::unique_ptr<ConnectionEndpoint> made(new ConnectionEndpoint(adapter));
  if (Status begun = made->begin(size, now); !begun) return std::unexpected(begun.error());
  return made;
}

Status ConnectionEndpoint::begin(const Size& size, Instant now) {
  Places& messages = adapter_.memory().messages();
  while (places_.size() < size.sends + size.receives) {
    const auto place = messages.take();
    if (!place) return fail(Errc::kResourceExhausted, "no room for messages");
    places_.push_back(*place);
  }
  free_sends_.assign(places_.begin() + size.receives, places_.end());
  if (size.is_apart) {
    const auto domain = adapter_.make_domain();
    if (!domain) return std::unexpected(domain.error());
    domain_ = *domain;
    owns_domain_ = true;
  }
  auto qp = adapter_.adapter().create_qp({.type = verbs::QpType::kReliableConnected,
                                          .pd = domain_.pd,
                                          .send_cq = &sent_,
                                          .receive_cq = &received_,
                                          .work = &work_,
                                          .signal_all = true});
  if (!qp) return std::unexpected(qp.error());
  qp_ = std::move(*qp);
  verbs::QpAttributes attributes;
  attributes.state = verbs::QpState::kInit;
  attributes.access = verbs::kAccessRemoteRead | verbs::kAccessRemoteWrite;
  const Status moved = qp_->modify(
      attributes, verbs::kAttrState | verbs::kAttrPkeyIndex | verbs::kAttrPort | verbs::kAttrAccess,
      now);
  if (!moved) return moved;
  for (std::uint32_t i = 0; i < size.receives; ++i) post_receive(places_[i]);
  return {};
}

ConnectionEndpoint::~ConnectionEndpoint() {
  qp_.reset();
  if (owns_domain_) adapter_.end_domain(domain_);
  for (const std::uint32_t place : places_) adapter_.memory().messages().give_back(place);
}

Status ConnectionEndpoint::connect(const ConnectionPeer& peer, Instant now) {
  const auto way = adapter_.way_to(peer.gid);
  if (!way) return fail(Errc::kNotFound, "the MAC address of the peer is not known any more");
  verbs::QpAttributes attributes;
  attributes.state = verbs::QpState::kReadyToReceive;
  attributes.path_mtu = way->has_packets ? kPathMtu1024 : kPathMtu4096;
  attributes.dest_qpn = peer.qpn;
  attributes.receive_psn = peer.receive_psn;
  attributes.send_psn = peer.send_psn;
  attributes.max_dest_reads = peer.max_reads;
  attributes.min_rnr_timer = kMinRnrTimer;
  attributes.timeout = peer.ack_timeout;
  attributes.retry_count = peer.retry_count;
  attributes.rnr_retry = peer.rnr_retry;
  attributes.av = way->address;
  Status moved = qp_->modify(attributes,
                             verbs::kAttrState | verbs::kAttrAddress | verbs::kAttrPathMtu |
                                 verbs::kAttrDestQpn | verbs::kAttrReceivePsn |
                                 verbs::kAttrMaxDestReads | verbs::kAttrMinRnrTimer,
                             now);
  if (!moved) return moved;
  attributes.state = verbs::QpState::kReadyToSend;
  return qp_->modify(attributes,
                     verbs::kAttrState | verbs::kAttrTimeout | verbs::kAttrRetryCount |
                         verbs::kAttrRnrRetry | verbs::kAttrSendPsn | verbs::kAttrMaxReads,
                     now);
}

void ConnectionEndpoint::post_receive(std::uint32_t place) {
  verbs::ReceiveRequest request;
  request.wr_id = place;
  request.sges.count = 1;
  request.sges.entries[0] = {.addr = adapter_.memory().message(place).value,
                             .length = ServiceMemory::kMessageBytes,
                             .lkey = domain_.local_key};
  work_.post_receive(request);
  qp_->kick();
}

bool ConnectionEndpoint::send(std::span<const std::byte> message) {
  if (!problem_.empty() || free_sends_.empty()) return false;
  const std::uint32_t place = free_sends_.back();
  if (!adapter_.memory().write(place, message)) return false;
  free_sends_.pop_back();
  verbs::SendRequest request;
  request.wr_id = place;
  request.opcode = verbs::WrOpcode::kSend;
  request.signaled = true;
  request.solicited = true;
  request.sges.count = 1;
  request.sges.entries[0] = {.addr = adapter_.memory().message(place).value,
                             .length = static_cast<std::uint32_t>(message.size()),
                             .lkey = domain_.local_key};
  work_.post_send(request);
  qp_->kick();
  return true;
}

std::size_t ConnectionEndpoint::deliver(std::size_t limit, const Take& take) {
  std::size_t count = 0;
  while (const auto completion = sent_.take()) {
    ++count;
    free_sends_.push_back(static_cast<std::uint32_t>(completion->wr_id));
    if (completion->status != verbs::WcStatus::kSuccess) {
      break_by("a message could not be sent: " + std::string(to_string(completion->status)));
    }
  }
  for (std::size_t taken = 0; taken < limit && problem_.empty(); ++taken) {
    const auto completion = received_.take();
    if (!completion) break;
    ++count;
    if (take_one(*completion, take)) post_receive(static_cast<std::uint32_t>(completion->wr_id));
  }
  if (!problem_.empty()) {
    while (received_.take()) ++count;
  } else if (qp_->state() == verbs::QpState::kError) {
    break_by("the connection failed");
  }
  return count;
}

bool ConnectionEndpoint::take_one(const verbs::Completion& completion, const Take& take) {
  if (completion.status != verbs::WcStatus::kSuccess) {
    break_by("a message could not be received: " + std::string(to_string(completion.status)));
    return false;
  }
  // A peer that writes with immediate data uses a receive without filling it.
  if (completion.opcode != verbs::WcOpcode::kReceive ||
      completion.byte_len > ServiceMemory::kMessageBytes) {
    break_by("the peer used a receive without a message");
    return false;
  }
  std::array<std::byte, ServiceMemory::kMessageBytes> bytes;
  const std::span message = std::span(bytes).first(completion.byte_len);
  if (!adapter_.memory().read(static_cast<std::uint32_t>(completion.wr_id), message)) {
    break_by("the memory of the service failed");
    return false;
  }
  take(message);
  return problem_.empty();
}

void ConnectionEndpoint::break_by(std::string why) {
  if (problem_.empty()) problem_ = std::move(why);
}

void ConnectionEndpoint::end(std::string why, Instant now) {
  break_by(std::move(why));
  if (qp_->state() == verbs::QpState::kError) return;
  verbs::QpAttributes attributes;
  attributes.state = verbs::QpState::kError;
  [[maybe_unused]] const Status moved = qp_->modify(attributes, verbs::kAttrState, now);
  assert(moved);
}

}  // namespace paravane::host_verbs
