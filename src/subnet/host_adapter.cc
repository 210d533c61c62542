#include "subnet/host_adapter.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "wire/roce/header_at.h"

namespace paravane::subnet {
namespace {

namespace capability = wire::infiniband::capability;
namespace method = wire::infiniband::method;
namespace trap = wire::infiniband::trap;
using wire::infiniband::BadKey;
using wire::infiniband::CapabilityChange;
using wire::infiniband::Datagram;
using wire::infiniband::DatagramHeaders;
using wire::infiniband::kMadBytes;
using wire::infiniband::NodeType;
using wire::infiniband::NoticeType;
using wire::infiniband::SubnetManagementPacket;

constexpr std::uint32_t kPortCapabilities =
    capability::kTraps | capability::kLaneTable | capability::kSystemGuid |
    capability::kCapabilityNotice | capability::kRegisterAgain;

}  // namespace

class HostAdapter::Attachment final : public MadLayer::Outlet {
 public:
  Attachment(HostAdapter& adapter, Port& port, SegmentRoom* room)
      : adapter_(adapter), port_(port), mads_(adapter, port, *this, adapter.clock_, room) {}

  Port& port() { return port_; }
  MadLayer& mads() { return mads_; }
  QueuePairs& queue_pairs() { return queue_pairs_; }
  GroupUses& group_uses() { return group_uses_; }
  void attach(LinkEnd* end) { end_ = end; }
  LinkEnd* end() const { return end_; }
  void add(PortUser& user) { users_.push_back(&user); }
  void remove(PortUser& user) { std::erase(users_, &user); }
  void set_observer(PacketObserver* observer) { observer_ = observer; }

  void on_packet(Packet packet);
  bool send_data(DatagramHeaders headers, std::span<const std::byte> payload);

  // ---- MadLayer::Outlet ----
  void send(const DatagramHeaders& headers, std::span<const std::byte, kMadBytes> mad) override;
  void on_manager_change() override;
  void on_bad_key(const MadAddress& from, const SubnetManagementPacket& smp) override;

  AdapterImage::Port image() const;
  void adopt(const AdapterImage::Port& image);

  void on_port_change();
  void on_register_again();
  void on_time(Instant now);
  Instant next_deadline() const {
    // Without a manager a notice has no receiver.
    const bool is_heard = port_.lid() != 0 && port_.info().master_lid.get() != 0;
    return std::min({mads_.next_deadline(), port_.next_deadline(),
                     is_heard ? notices_.next_deadline() : kNever});
  }

 private:
  void transmit(const DatagramHeaders& headers, std::span<const std::byte> payload);
  bool is_for_us(const DatagramHeaders& headers) const;
  void take_management(const Datagram& packet);
  void take_data(const Datagram& packet);
  void tell_bad_key(std::uint16_t number, std::uint32_t key, const DatagramHeaders& headers);

  HostAdapter& adapter_;
  Port& port_;
  LinkEnd* end_ = nullptr;
  MadLayer mads_;
  QueuePairs queue_pairs_;
  GroupUses group_uses_;
  Notices notices_;
  std::uint16_t told_from_ = 0;  // the LID that notices were told from
  std::vector<PortUser*> users_;
  PacketObserver* observer_ = nullptr;
};

// ---- What arrives ----

void HostAdapter::Attachment::on_packet(Packet packet) {
  if (observer_ != nullptr) observer_->on_received(packet);
  PortTotals& totals = port_.totals();
  totals.received_bytes += packet.size();
  const auto read = wire::infiniband::read_datagram(packet);
  if (!read) {
    ++totals.receive_errors;
    return;
  }
  const DatagramHeaders& headers = read->headers;
  const bool is_multicast = wire::infiniband::is_multicast_lid(headers.destination);
  ++(is_multicast ? totals.received_multicast : totals.received_unicast);
  if (headers.lane == wire::infiniband::kManagementLane) {
    take_management(*read);
    return;
  }
  port_.heard_data();
  const bool fits = read->payload.size() <= wire::infiniband::bytes_of(port_.mtu());
  if (!port_.receives_data() || !fits || !is_for_us(headers)) {
    ++totals.receive_errors;
    return;
  }
  take_data(*read);
}

bool HostAdapter::Attachment::is_for_us(const DatagramHeaders& headers) const {
  return wire::infiniband::is_multicast_lid(headers.destination)
             ? queue_pairs_.listens_to(headers.destination)
             : port_.has_lid(headers.destination);
}

void HostAdapter::Attachment::take_management(const Datagram& packet) {
  const DatagramHeaders& headers = packet.headers;
  const bool is_addressed =
      headers.destination == wire::infiniband::kPermissiveLid || port_.has_lid(headers.destination);
  if (headers.destination_qp != wire::infiniband::kSubnetQueuePair || !is_addressed) {
    ++port_.totals().management_dropped;
    return;
  }
  // What represses a notice is for the agent that sent it: its transactions have no agent's number.
  if (packet.payload.size() == kMadBytes) {
    const auto smp = wire::roce::header_at<SubnetManagementPacket>(packet.payload);
    const std::uint64_t transaction = smp.header.transaction.get();
    if (smp.header.method == method::kTrapRepress && transaction >> 32 == 0) {
      if (adapter_.has_key(smp.management_key.get(), port_.number()))
        notices_.repress(transaction);
      else
        on_bad_key({.lid = headers.source}, smp);
      return;
    }
  }
  mads_.on_subnet_packet(packet);
}

void HostAdapter::Attachment::take_data(const Datagram& packet) {
  const DatagramHeaders& headers = packet.headers;
  // It is that of multicast packets and of no others: a request to many would have many answers.
  const bool is_multicast = headers.destination_qp == wire::infiniband::kMulticastQueuePair;
  if (is_multicast != wire::infiniband::is_multicast_lid(headers.destination)) {
    ++port_.totals().receive_errors;
    return;
  }
  if (is_multicast) {
    queue_pairs_.deliver_multicast(packet);
    return;
  }
  if (headers.destination_qp == wire::infiniband::kServiceQueuePair) {
    if (!port_.lets_pass(headers.partition))
      tell_bad_key(trap::kBadPartition, headers.partition, headers);
    else if (headers.qkey != wire::infiniband::kServiceQkey)
      tell_bad_key(trap::kBadQkey, headers.qkey, headers);
    else
      mads_.on_service_packet(packet);
    return;
  }
  switch (queue_pairs_.deliver(packet)) {
    case QueuePairs::Verdict::kDelivered: break;
    case QueuePairs::Verdict::kUnknown: ++port_.totals().receive_errors; break;
    case QueuePairs::Verdict::kBadPartition:
      tell_bad_key(trap::kBadPartition, headers.partition, headers);
      break;
    case QueuePairs::Verdict::kBadQkey: tell_bad_key(trap::kBadQkey, headers.qkey, headers); break;
  }
}

void HostAdapter::Attachment::tell_bad_key(std::uint16_t number, std::uint32_t key,
                                           const DatagramHeaders& headers) {
  if (number == trap::kBadPartition)
    port_.count_partition_violation();
  else
    port_.count_qkey_violation();
  BadKey details;
  details.source.set(headers.source);
  details.destination.set(headers.destination);
  details.key.set(key);
  details.level = static_cast<std::uint8_t>(headers.service_level << 4);
  details.source_qp.set(headers.source_qp);
  details.destination_qp.set(headers.destination_qp);
  if (headers.global) {
    details.source_gid = headers.global->source;
    details.destination_gid = headers.global->destination;
  }
  notices_.tell(notice_of(number, NoticeType::kSecurity, NodeType::kChannelAdapter, details),
                adapter_.clock_.now);
}

// ---- What is sent ----

bool HostAdapter::Attachment::send_data(DatagramHeaders headers,
                                        std::span<const std::byte> payload) {
  if (!port_.sends_data() || payload.size() > wire::infiniband::bytes_of(port_.mtu())) {
    ++port_.totals().send_discards;
    return false;
  }
  if (!port_.has_lid(headers.source)) headers.source = port_.lid();
  transmit(headers, payload);
  return true;
}

void HostAdapter::Attachment::send(const DatagramHeaders& headers,
                                   std::span<const std::byte, kMadBytes> mad) {
  if (headers.lane != wire::infiniband::kManagementLane) {
    send_data(headers, mad);
    return;
  }
  DatagramHeaders own = headers;
  if (own.source == 0) own.source = port_.lid();
  transmit(own, mad);
}

void HostAdapter::Attachment::transmit(const DatagramHeaders& headers,
                                       std::span<const std::byte> payload) {
  DatagramHeaders sent = headers;
  if (sent.global && sent.global->source == wire::infiniband::Gid{})
    sent.global->source = port_.gid();
  Packet packet;
  wire::infiniband::write_datagram(sent, payload, packet);
  if (observer_ != nullptr) observer_->on_sent(packet);
  PortTotals& totals = port_.totals();
  const bool is_multicast = wire::infiniband::is_multicast_lid(sent.destination);
  const bool is_loop = !is_multicast && port_.has_lid(sent.destination);
  // Members of a group at this port hear it, too (10.5.2.1).
  if (is_loop || (is_multicast && queue_pairs_.listens_to(sent.destination))) {
    Packet copy = is_loop ? std::move(packet) : packet;
    if (!adapter_.queue_.put(adapter_, port_.number(), std::move(copy), &port_))
      ++totals.send_discards;
    if (is_loop) return;
  }
  if (end_ == nullptr) {
    ++totals.send_discards;
    return;
  }
  const std::size_t bytes = packet.size();
  end_->send(std::move(packet));
  totals.sent_bytes += bytes;
  ++(is_multicast ? totals.sent_multicast : totals.sent_unicast);
}

// ---- What changes ----

void HostAdapter::Attachment::on_manager_change() {
  adapter_.count_change();
  CapabilityChange details;
  details.lid.set(port_.lid());
  details.capabilities.set(port_.capabilities());
  notices_.tell(
      notice_of(trap::kCapabilityChanged, NoticeType::kInfo, NodeType::kChannelAdapter, details),
      adapter_.clock_.now);
}

void HostAdapter::Attachment::on_bad_key(const MadAddress& from,
                                         const SubnetManagementPacket& smp) {
  notices_.tell(bad_management_key(NodeType::kChannelAdapter, from, smp), adapter_.clock_.now);
}

void HostAdapter::Attachment::on_port_change() {
  if (port_.lid() != told_from_) {
    told_from_ = port_.lid();
    notices_.tell_again(adapter_.clock_.now);
  }
  for (PortUser* user : users_) user->on_port_change();
}

void HostAdapter::Attachment::on_register_again() {
  for (PortUser* user : users_) user->on_register_again();
}

void HostAdapter::Attachment::on_time(Instant now) {
  port_.on_time(now);
  mads_.on_time(now);
  const std::uint16_t master = port_.info().master_lid.get();
  if (port_.lid() == 0 || master == 0) return;
  for (const Notices::Due& due : notices_.take_due(now))
    mads_.send_to({.lid = master}, Notices::trap_of(due, port_.info().lid));
}

// ---- From one engine to the next ----

AdapterImage::Port HostAdapter::Attachment::image() const {
  return {.port = port_.image(adapter_.clock_.now), .notices = notices_.image()};
}

void HostAdapter::Attachment::adopt(const AdapterImage::Port& image) {
  port_.adopt(image.port, adapter_.clock_.now);
  notices_.adopt(image.notices, adapter_.clock_.now);
  told_from_ = port_.lid();
}

// ---- The adapter ----

HostAdapter::HostAdapter(std::string name, const AdapterModel& model, std::uint64_t guid,
                         std::string description, PacketQueue& queue, const TurnClock& clock,
                         SegmentRoom* room)
    : Node({.type = wire::infiniband::NodeType::kChannelAdapter,
            .guid = guid,
            .system_guid = guid,
            .description = std::move(description),
            .device_id = model.device_id}),
      name_(std::move(name)),
      model_(model),
      queue_(queue),
      clock_(clock) {
  ports_.push_back(nullptr);
  for (PortNumber number = 1; number <= model.ports; ++number) {
    const PortAbilities abilities{.speed = model.speed,
                                  .mtu = model.mtu,
                                  .partitions = model.partitions,
                                  .capabilities = kPortCapabilities,
                                  .guid = guid + number};
    ports_.push_back(std::make_unique<Port>(number, abilities, *this));
    attachments_.push_back(std::make_unique<Attachment>(*this, *ports_.back(), room));
  }
}

HostAdapter::~HostAdapter() {
  queue_.forget(*this);
}

HostAdapter::Attachment& HostAdapter::at(PortNumber port) const {
  return *attachments_[port - 1U];
}

void HostAdapter::attach(PortNumber port, LinkEnd& end) {
  at(port).attach(&end);
}

MadPort& HostAdapter::mads(PortNumber port) {
  return at(port).mads();
}

QueuePairs& HostAdapter::queue_pairs(PortNumber port) {
  return at(port).queue_pairs();
}

GroupUses& HostAdapter::group_uses(PortNumber port) {
  return at(port).group_uses();
}

void HostAdapter::add_user(PortNumber port, PortUser& user) {
  at(port).add(user);
}

void HostAdapter::remove_user(PortNumber port, PortUser& user) {
  at(port).remove(user);
}

void HostAdapter::set_observer(PortNumber port, PacketObserver* observer) {
  at(port).set_observer(observer);
}

bool HostAdapter::send(PortNumber port, DatagramHeaders headers,
                       std::span<const std::byte> payload) {
  return at(port).send_data(std::move(headers), payload);
}

AdapterImage HostAdapter::image() const {
  AdapterImage image{.name = name_, .guid = identity().guid, .device_id = model_.device_id};
  for (const auto& attachment : attachments_) image.ports.push_back(attachment->image());
  return image;
}

bool HostAdapter::can_be(const AdapterImage& image) const {
  if (image.name != name_ || image.guid != identity().guid || image.device_id != model_.device_id ||
      image.ports.size() != attachments_.size())
    return false;
  for (const auto& attachment : attachments_) {
    Port& port = attachment->port();
    if (!port.can_be(image.ports[port.number() - 1U].port)) return false;
  }
  return true;
}

void HostAdapter::adopt(const AdapterImage& image) {
  for (std::size_t i = 0; i < attachments_.size(); ++i) attachments_[i]->adopt(image.ports[i]);
}

void HostAdapter::on_packet(PortNumber arrived, Packet packet) {
  at(arrived).on_packet(std::move(packet));
}

void HostAdapter::on_port_change(PortNumber port) {
  count_change();
  at(port).on_port_change();
}

void HostAdapter::on_register_again(PortNumber port) {
  at(port).on_register_again();
}

void HostAdapter::on_link_order(PortNumber port) {
  if (LinkEnd* end = at(port).end(); end != nullptr) end->on_order();
}

void HostAdapter::on_time(Instant now) {
  for (const auto& attachment : attachments_) attachment->on_time(now);
}

Instant HostAdapter::next_deadline() const {
  Instant next = kNever;
  for (const auto& attachment : attachments_) next = std::min(next, attachment->next_deadline());
  return next;
}

}  // namespace paravane::subnet
