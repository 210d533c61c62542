// SrpTargetRig: an SRP target in a VM, and a service's adapter from which the test logs in to it.
//
// Commands and payload go through the RDMA engine: the target has queue pairs of the VM's adapter.
// Messages of connection management go from the real manager to a small passive side by hand.
//
// Owner thread only.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "connection/communication_manager.h"
#include "storage/target_address.h"
#include "storage/target_login.h"
#include "testing/fake_srp_target.h"
#include "testing/service_rig.h"
#include "wire/infiniband/communication.h"

namespace paravane::fake {

class SrpTargetRig final : public ServiceRig,
                           public RemoteMemory,
                           private connection::DatagramPort,
                           private connection::ConnectionListener {
 public:
  static constexpr std::uint32_t kStartingPsn = 0x56'789A;  // that the target tells
  static constexpr std::uint64_t kService = 0x0002'C903'0000'0001;
  static constexpr std::uint32_t kSlotBytes = 1024;
  static constexpr std::uint32_t kSlots = 64;  // of each direction

  SrpTargetRig() { target.add(0, disk); }
  ~SrpTargetRig() override {
    qp_.reset();
    old_.clear();
  }

  static storage::TargetAddress address_of(const verbs::Gid& gid) {
    return {.gid = gid, .service = kService, .id_ext = 7, .ioc_guid = 9};
  }
  storage::TargetAddress address() { return address_of(a().gid()); }
  storage::TargetLogin::Surroundings surroundings() {
    return {.adapter = service(),
            .connections = connections,
            .timers = timers(),
            .local_guid = 0x50,
            .initiator = {1, 2, 3},
            .wake = [this] { is_woken = true; },
            .look_again = [this] { ++looks; }};
  }

  // ---- What the login's owner does ----
  std::function<storage::TargetLogin*()> login_of;
  std::function<void()> pump;  // of the login or of its owner
  // Until all is still. False: there is no end.
  bool settle() {
    for (int rounds = 0; rounds < 10'000; ++rounds) {
      bool worked = std::exchange(is_woken, false);
      if (worked && pump) pump();
      worked = deliver_datagrams() || worked;
      if (connections.next_deadline() <= now()) connections.advance(now());
      run();
      worked = take_ius() || worked;
      storage::TargetLogin* login = login_of ? login_of() : nullptr;
      if (login != nullptr && login->has_messages()) is_woken = true;
      if (!worked && !is_woken) return true;
    }
    return false;
  }
  // Everything happens when it is due, to 100 ms.
  void pass(Duration time) {
    const Instant end = now() + time;
    while (now() < end) {
      advance(std::min<Duration>(std::chrono::milliseconds(100), end - now()));
      ASSERT_TRUE(settle());
    }
  }

  // ---- The passive side ----
  bool is_silent = false;                                // to requests for a connection
  std::optional<std::uint16_t> reject_reason{};          // what they are answered with
  std::optional<std::uint32_t> login_reject{};           // likewise, in words of SRP
  std::set<std::uint64_t> unknown_services{};            // likewise: invalid service ID
  std::optional<std::vector<std::byte>> login_answer{};  // in place of the target's
  std::uint32_t request_limit = 128;
  std::uint8_t replied_depth = 16;
  wire::infiniband::ConnectionRequest last_request{};
  unsigned requests = 0;
  unsigned ready = 0;        // RTU came
  unsigned rejected = 0;     // REJ came
  unsigned disconnects = 0;  // DREQ came
  bool is_deaf = false;      // IUs of the initiator are not taken

  void disconnect() {
    auto message = message_of<wire::infiniband::DisconnectRequest>(
        wire::infiniband::communication::kDisconnectRequest);
    message.remote_qp.set(last_request.local_qp() << 8);
    answer(message);
  }
  // The queue pair of the present connection. REQUIRES: there is one.
  EngineQp& qp() { return *qp_; }
  bool has_qp() const { return qp_ != nullptr; }
  void drop_qp() { qp_.reset(); }
  const EngineBuffer& scratch() { return scratch_; }
  void send_raw(std::uint64_t bytes) {
    qp_->post(send_request(next_wr_++, {scratch_.sge(0, bytes)}));
  }
  // The last command's memory, as the target was told.
  std::uint64_t last_address = 0;
  std::uint32_t last_key = 0;
  bool write_to(std::uint64_t address, std::uint32_t key, std::uint32_t bytes) {
    return complete(write_request(next_wr_, {scratch_.sge(0, bytes)}, address, key));
  }

  // ---- RemoteMemory ----
  bool read(std::uint64_t address, std::uint32_t key, std::span<std::byte> to) override {
    last_address = address;
    last_key = key;
    if (!complete(read_request(next_wr_, {scratch_.sge(0, to.size())}, address, key))) return false;
    std::ranges::copy(a().read(scratch_, 0, to.size()), to.begin());
    return true;
  }
  bool write(std::uint64_t address, std::uint32_t key, std::span<const std::byte> from) override {
    last_address = address;
    last_key = key;
    if (from.empty()) return true;
    a().write(scratch_, 0, from);
    return complete(write_request(next_wr_, {scratch_.sge(0, from.size())}, address, key));
  }

  FakeScsiDisk disk{};
  FakeSrpTarget target{*this, [this](std::span<const std::byte> iu) { send_iu(iu); }};
  connection::CommunicationManager connections{*this, *this, 0x1234'5678'9ABC'DEF0};
  bool is_woken = false;
  unsigned looks = 0;

 private:
  using MadBytes = wire::infiniband::MadBytes;
  static constexpr std::uint32_t kTheirId = 0x4711;

  bool complete(const verbs::SendRequest& request) {
    if (!qp_) return false;
    const std::uint64_t number = next_wr_++;
    qp_->post(request);
    run();
    const auto found = std::ranges::find(qp_->sends.all(), number, &verbs::Completion::wr_id);
    return found != qp_->sends.all().end() && found->status == verbs::WcStatus::kSuccess;
  }
  void send_iu(std::span<const std::byte> iu) {
    if (!qp_) return;
    const std::uint64_t offset = (next_slot_++ % kSlots) * std::uint64_t{kSlotBytes};
    a().write(outgoing_, offset, iu);
    qp_->post(send_request(next_wr_++, {outgoing_.sge(offset, iu.size())}));
    run();
  }
  void post_receive(std::uint64_t slot) {
    qp_->post(receive_request(slot, {incoming_.sge(slot * kSlotBytes, kSlotBytes)}));
  }
  bool take_ius() {
    if (is_deaf || !qp_ || taken_ >= qp_->receives.size()) return false;
    while (qp_ && taken_ < qp_->receives.size()) {
      const verbs::Completion completion = qp_->receives.at(taken_++);
      if (completion.status != verbs::WcStatus::kSuccess) continue;
      const auto iu = a().read(incoming_, completion.wr_id * kSlotBytes, completion.byte_len);
      post_receive(completion.wr_id);
      note_data(iu);
      target.receive(iu);
    }
    return true;
  }

  // Of a command with a direct descriptor behind its header.
  void note_data(std::span<const std::byte> iu) {
    if (iu.size() < sizeof(wire::srp::Command) + sizeof(wire::srp::DirectDescriptor)) return;
    wire::srp::DirectDescriptor data;
    std::memcpy(&data, iu.data() + sizeof(wire::srp::Command), sizeof(data));
    last_address = data.address.get();
    last_key = data.key.get();
  }

  template <typename Message>
  Message message_of(std::uint16_t attribute) {
    Message message;
    message.header.management_class = wire::infiniband::management_class::kCommunication;
    message.header.class_version = wire::infiniband::kCommunicationVersion;
    message.header.method = wire::infiniband::method::kSend;
    message.header.transaction.set(0x7777);
    message.header.attribute.set(attribute);
    message.local_id.set(kTheirId);
    message.remote_id.set(last_request.local_id.get());
    return message;
  }
  template <typename Message>
  void answer(const Message& message) {
    MadBytes mad{};
    static_assert(sizeof(message) == sizeof(mad));
    std::memcpy(mad.data(), &message, sizeof(mad));
    to_manager_.push_back(mad);
  }
  bool send(const wire::infiniband::Gid& /*to*/,
            std::span<const std::byte, wire::infiniband::kMadBytes> mad) override {
    to_target_.emplace_back();
    std::ranges::copy(mad, to_target_.back().begin());
    return true;
  }
  bool deliver_datagrams() {
    if (to_target_.empty() && to_manager_.empty()) return false;
    while (!to_target_.empty()) {
      const MadBytes mad = to_target_.front();
      to_target_.pop_front();
      take_datagram(mad);
    }
    while (!to_manager_.empty()) {
      const MadBytes mad = to_manager_.front();
      to_manager_.pop_front();
      connections.receive(a().gid().raw, mad, now());
    }
    return true;
  }
  void take_datagram(const MadBytes& mad) {
    namespace communication = wire::infiniband::communication;
    const auto header = wire::infiniband::part_of<wire::infiniband::MadHeader>(mad, 0);
    switch (header.attribute.get()) {
      case communication::kRequest:
        last_request = wire::infiniband::part_of<wire::infiniband::ConnectionRequest>(mad, 0);
        ++requests;
        return take_request();
      case communication::kReadyToUse: ++ready; return;
      case communication::kReject: ++rejected; return;
      case communication::kDisconnectRequest:
        ++disconnects;
        answer(message_of<wire::infiniband::DisconnectReply>(communication::kDisconnectReply));
        return;
      default: return;
    }
  }
  void take_request() {
    if (is_silent) return;
    const std::uint64_t service = last_request.service.get();
    std::span<const std::byte> login = last_request.private_data;
    if ((service & ~std::uint64_t{0xFFFF}) == wire::infiniband::kTcpPortService) {
      login = login.subspan(sizeof(wire::infiniband::IpAddressingHeader));
    }
    if (unknown_services.contains(service)) {
      return reject(wire::infiniband::reject_reason::kInvalidServiceId, {});
    }
    if (reject_reason) return reject(*reject_reason, {});
    if (login_reject) {
      return reject(wire::infiniband::reject_reason::kConsumer,
                    target.reject(login, *login_reject));
    }
    const std::vector<std::byte> data =
        login_answer ? *login_answer : target.log_in(login, request_limit);
    begin_qp();
    auto reply = message_of<wire::infiniband::ConnectionReply>(communication_reply());
    reply.qp.set(qp_->qp->number() << 8);
    reply.psn.set(kStartingPsn << 8);
    reply.initiator_depth = replied_depth;
    reply.responder_resources = 4;
    std::ranges::copy(data, reply.private_data.begin());
    answer(reply);
  }
  static constexpr std::uint16_t communication_reply() {
    return wire::infiniband::communication::kReply;
  }
  void reject(std::uint16_t reason, std::span<const std::byte> data) {
    auto message =
        message_of<wire::infiniband::ConnectionReject>(wire::infiniband::communication::kReject);
    message.reason.set(reason);
    std::ranges::copy(data, message.private_data.begin());
    answer(message);
  }
  void begin_qp() {
    if (qp_) old_.push_back(std::move(qp_));
    qp_ = a().queue_pair();
    taken_ = 0;
    verbs::QpAttributes attributes = default_attributes();
    attributes.receive_psn = kStartingPsn;
    attributes.send_psn = last_request.starting_psn();
    bring_up_to(*qp_, verbs::QpState::kReadyToSend, service().gid(), last_request.local_qp(),
                attributes);
    for (std::uint64_t slot = 0; slot < kSlots; ++slot) post_receive(slot);
  }

  // ---- ConnectionListener ----
  storage::TargetLogin* login(connection::ConnectionId id) {
    storage::TargetLogin* known = login_of ? login_of() : nullptr;
    return known != nullptr && known->connection() == id ? known : nullptr;
  }
  void on_reply(connection::ConnectionId id, const connection::Reply& reply) override {
    if (auto* known = login(id)) known->on_reply(reply, now());
  }
  void on_rejected(connection::ConnectionId id, const connection::Rejection& rejection) override {
    if (auto* known = login(id)) known->on_rejected(rejection);
  }
  void on_timed_out(connection::ConnectionId id) override {
    if (auto* known = login(id)) known->on_timed_out();
  }
  void on_disconnected(connection::ConnectionId id, connection::Ending /*ending*/) override {
    if (auto* known = login(id)) known->on_disconnected(now());
  }

  EngineBuffer incoming_ = a().buffer(std::uint64_t{kSlots} * kSlotBytes);
  EngineBuffer outgoing_ = a().buffer(std::uint64_t{kSlots} * kSlotBytes);
  EngineBuffer scratch_ = a().buffer(1 << 20);
  std::unique_ptr<EngineQp> qp_;
  std::vector<std::unique_ptr<EngineQp>> old_;
  std::size_t taken_ = 0;
  std::uint64_t next_wr_ = 1;
  std::uint64_t next_slot_ = 0;
  std::deque<MadBytes> to_target_;
  std::deque<MadBytes> to_manager_;
};

}  // namespace paravane::fake
