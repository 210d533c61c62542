// A hostile host at a cable of the switch, or a program that has got hold of a port: any packets
// into a subnet that a manager has made active. The input is a list of acts
// (subnet_packet_script.h).
//
// What must hold besides the sanitizers: each act has an end, after which no packet moves, and few
// packets leave for each that arrives; where the cable may not manage, neither tables nor LIDs nor
// partitions change by what comes through it, and ports that are not its own stay up; and the
// program of an adapter is told of all that it asked.

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "promise.h"
#include "subnet/segment_sender.h"
#include "subnet_packet_script.h"
#include "testing/management_datagrams.h"
#include "testing/port_orders.h"
#include "testing/recording_link_end.h"
#include "testing/subnet_rig.h"
#include "wire/infiniband/segments.h"

namespace paravane::fake {
namespace {

namespace attribute = wire::infiniband::attribute;
namespace management_class = wire::infiniband::management_class;
namespace method = wire::infiniband::method;
using subnet::AgentId;
using subnet::MadAddress;
using subnet::PortNumber;
using wire::infiniband::DatagramHeaders;
using wire::infiniband::PerformancePacket;
using wire::infiniband::PortState;

constexpr int kMostActs = 200;
constexpr PortNumber kCablePort = 9;
constexpr std::uint64_t kKeyOfManager = 0x6B65'7920'6F66'2069;
constexpr std::uint32_t kQkeyOfPairs = 0x0B1B;
constexpr std::uint16_t kLidOfGroup = 0xC001;
constexpr wire::infiniband::Gid kGidOfGroup{0xFF, 0x12, 0x40, 0x1B};
// Of what may leave after one act: a burst of segments of each port that answers, and the notices.
constexpr std::size_t kMostPacketsOfAct = 4 * subnet::SegmentSender::kBurst;

class Program final : public subnet::MadAgent {
 public:
  Program(subnet::MadPort& mads, const TurnClock& clock) : mads_(mads), clock_(clock) {
    subnet::AgentWish wish{.management_class = management_class::kSubnetAdministration,
                           .class_version = 2,
                           .joins_segments = true};
    for (const std::uint8_t one : {method::kGet, method::kGetTable, method::kReport})
      wish.methods[0] |= std::uint64_t{1} << one;
    id_ = mads_.register_agent(wish, *this).value();
  }
  ~Program() override { mads_.unregister(id_); }

  void ask(std::uint16_t lid, unsigned retries) {
    PerformancePacket mad;
    mad.header.management_class = management_class::kSubnetAdministration;
    mad.header.class_version = 2;
    mad.header.method = method::kGet;
    mad.header.transaction.set(asked + 1);
    const auto sent = mads_.send(id_, {.lid = lid, .qp = 1}, mad_bytes(mad),
                                 std::chrono::milliseconds(50), retries, clock_.now);
    // A manager may have taken the port's first key.
    require(sent || sent.error() == subnet::SendRefusal::kNoPartition);
    if (sent) ++asked;
  }
  void on_mad(AgentId agent, const MadAddress&, std::span<const std::byte> mad) override {
    require(agent == id_ && mad.size() >= 24);
    wire::infiniband::MadHeader header;
    std::memcpy(&header, mad.data(), sizeof header);
    if (wire::infiniband::is_response(header.method)) ++told;
  }
  void on_no_answer(AgentId, const MadAddress&, std::span<const std::byte>) override { ++told; }

  unsigned asked = 0;
  unsigned told = 0;

 private:
  subnet::MadPort& mads_;
  const TurnClock& clock_;
  AgentId id_{};
};

class NoReceiver final : public subnet::DatagramReceiver {
 public:
  void on_datagram(std::uint32_t, const wire::infiniband::Datagram& packet) override {
    require(packet.payload.size() <= wire::infiniband::kMostPayloadBytes);
  }
};

class SubnetFuzz {
 public:
  explicit SubnetFuzz(FuzzBytes& input) : input_(input) {
    const std::uint8_t how = input_.u8();
    may_manage_ = (how & 1) != 0;
    if ((how & 2) != 0) {
      rig_.manager.use_key(kKeyOfManager, 1);
      rig_.manager.sweep();
    }
    plug();
    for (subnet::HostAdapter* adapter : {&rig_.first, &rig_.second}) {
      subnet::QueuePairs& pairs = adapter->queue_pairs(1);
      const auto pair = pairs.make({.partition = 0xFFFF, .qkey = kQkeyOfPairs}, receiver_);
      pairs.attach(pair.value(), {.lid = kLidOfGroup, .gid = kGidOfGroup});
    }
    rig_.manager.make_group(kLidOfGroup,
                            std::array{SubnetRig::kFirstGuid + 1, SubnetRig::kSecondGuid + 1});
    rig_.settle();
    before_ = kept();
  }

  void run() {
    for (int acts = 0; acts < kMostActs && !input_.at_end(); ++acts) {
      act();
      require(rig_.settle());
      require(cable_.take().size() <= kMostPacketsOfAct);
      if (!may_manage_) require(kept() == before_);
    }
    for (int i = 0; i < 100; ++i) rig_.advance(std::chrono::milliseconds(60));
    require(program_.told == program_.asked);
  }

 private:
  // What only a manager changes.
  struct Kept {
    std::array<std::uint16_t, 3> lids{};
    std::array<PortNumber, 3> ways{};
    subnet::PortMask group{};
    std::array<bool, 4> up{};
    std::vector<std::uint16_t> partitions{};
    friend bool operator==(const Kept&, const Kept&) = default;
  };
  Kept kept() {
    subnet::SubnetSwitch& the_switch = rig_.subnet.the_switch();
    Kept kept{.lids = {rig_.first_lid(), rig_.second_lid(), rig_.switch_lid()}};
    for (std::size_t i = 0; i < kept.lids.size(); ++i)
      kept.ways[i] = the_switch.tables().way_to(kept.lids[i]);
    kept.group = the_switch.tables().ways_to(kLidOfGroup);
    kept.up = {rig_.first.port(1)->is_active(), rig_.second.port(1)->is_active(),
               the_switch.port(1)->is_active(), the_switch.port(2)->is_active()};
    for (const subnet::Port* port : {rig_.first.port(1), rig_.second.port(1), the_switch.port(0)})
      kept.partitions.insert(kept.partitions.end(), port->partitions().begin(),
                             port->partitions().end());
    return kept;
  }

  void plug() {
    rig_.subnet.the_switch().attach(kCablePort, cable_);
    rig_.subnet.the_switch().let_manage(kCablePort, may_manage_);
    (void)set_port_active(*rig_.subnet.the_switch().port(kCablePort));
  }

  void act() {
    switch (SubnetPacketAct{
        static_cast<std::uint8_t>(input_.below(std::to_underlying(SubnetPacketAct::kCount)))}) {
      case SubnetPacketAct::kRaw: return raw();
      case SubnetPacketAct::kRoute: return by_route();
      case SubnetPacketAct::kByLid: return by_lid();
      case SubnetPacketAct::kService: return service();
      case SubnetPacketAct::kSegment: return segment();
      case SubnetPacketAct::kData: return data();
      case SubnetPacketAct::kTime: return rig_.advance(std::chrono::milliseconds(10 * input_.u8()));
      case SubnetPacketAct::kSweep: return sweep();
      case SubnetPacketAct::kAsk: {
        const std::uint16_t lid = lid_of_act();
        return program_.ask(lid, input_.below(4));
      }
      case SubnetPacketAct::kCable: return change_cable();
      case SubnetPacketAct::kCount: break;
    }
  }

  void sweep() {
    rig_.manager.forget_heard();
    // A manager that may do all gives LIDs anew; what it does is not the cable's doing.
    rig_.manager.sweep();
    before_ = kept();
  }
  void change_cable() {
    subnet::SubnetSwitch& the_switch = rig_.subnet.the_switch();
    if (the_switch.is_attached(kCablePort))
      the_switch.detach(kCablePort);
    else
      plug();
  }

  void enter(std::uint8_t where, subnet::Packet packet) {
    subnet::SubnetSwitch& the_switch = rig_.subnet.the_switch();
    switch (may_manage_ ? where % 4 : 0) {
      case 0: return the_switch.on_packet(kCablePort, std::move(packet));
      case 1: return rig_.first.on_packet(1, std::move(packet));
      case 2: return rig_.second.on_packet(1, std::move(packet));
      default: return the_switch.on_packet(2, std::move(packet));
    }
  }

  void raw() {
    const std::uint8_t where = input_.u8();
    subnet::Packet packet(input_.u8());
    for (std::byte& byte : packet) byte = std::byte{input_.u8()};
    enter(where, std::move(packet));
  }

  std::uint16_t lid_of_act() {
    static constexpr std::uint16_t kLids[] = {1,      2,           3,      4,      0,     0x3F,
                                              0xBFFF, kLidOfGroup, 0xC000, 0xFFFE, 0xFFFF};
    const std::uint8_t pick = input_.u8();
    return pick < std::size(kLids) ? kLids[pick] : static_cast<std::uint16_t>(pick * 257);
  }

  Smp smp() {
    const std::uint8_t flags = input_.u8();
    const std::uint8_t a_method = input_.u8();
    const std::uint16_t what = input_.u8();
    Smp smp = smp_of(a_method, what, input_.u32());
    if ((flags & 1) != 0) smp.header.status.set(wire::infiniband::kReturning);
    if ((flags & 2) != 0 && may_manage_) smp.management_key.set(kKeyOfManager);
    if ((flags & 4) != 0) smp.header.status.set(smp.header.status.get() | input_.u16());
    smp.header.transaction.set(input_.u8());
    if ((flags & 8) != 0) {
      const std::size_t length = input_.below(65);
      for (std::size_t i = 0; i < length; ++i) smp.data[i] = std::byte{input_.u8()};
      return smp;
    }
    smp.data = current(what);
    const std::size_t place = input_.below(64);
    smp.data[place] = std::byte{input_.u8()};
    return smp;
  }
  // Near what a manager would set.
  std::array<std::byte, 64> current(std::uint16_t what) {
    Smp smp;
    if (what == attribute::kPortInfo) {
      wire::infiniband::PortInfo info = fake::wish_at(*rig_.second.port(1));
      put_attribute_in(smp, info);
    } else if (what == attribute::kSwitchInfo) {
      put_attribute_in(smp, rig_.subnet.the_switch().tables().info());
    }
    return smp.data;
  }

  void by_route() {
    const std::uint8_t where = input_.u8();
    Smp one = smp();
    const std::uint8_t pointer = input_.u8();
    const std::uint8_t count = input_.u8();
    one.header.management_class = management_class::kSubnetByRoute;
    one.header.class_specific.set(hops_of(pointer, count));
    const std::uint8_t mixed = input_.u8();
    one.source.set((mixed & 1) != 0 ? lid_of_act() : wire::infiniband::kPermissiveLid);
    one.destination.set((mixed & 2) != 0 ? lid_of_act() : wire::infiniband::kPermissiveLid);
    for (std::size_t hop = 1; hop <= std::min<std::size_t>(count, 8); ++hop) {
      one.initial_path[hop] = input_.u8();
      one.return_path[hop] = kCablePort;
    }
    const bool is_by_lid = (mixed & 4) != 0;
    enter(where, smp_packet(one, is_by_lid ? lid_of_act() : wire::infiniband::kPermissiveLid));
  }
  void by_lid() {
    const std::uint8_t where = input_.u8();
    const Smp one = smp();
    const std::uint16_t to = lid_of_act();
    enter(where, smp_packet(one, to, lid_of_act()));
  }

  DatagramHeaders headers_of(std::uint8_t flags, std::uint16_t to) {
    DatagramHeaders headers = service_headers(lid_of_act(), to);
    if ((flags & 1) != 0) headers.qkey = input_.u32();
    if ((flags & 2) != 0) headers.partition = input_.u16();
    if ((flags & 4) != 0)
      headers.global =
          wire::infiniband::GlobalRoute{.destination = kGidOfGroup, .hop_limit = input_.u8()};
    if ((flags & 8) != 0) headers.immediate = input_.u32();
    if ((flags & 16) != 0) headers.destination_qp = input_.u32() & 0xFF'FFFF;
    if ((flags & 32) != 0) headers.lane = input_.u8() & 0x0F;
    return headers;
  }
  void service() {
    const std::uint8_t where = input_.u8();
    const std::uint8_t flags = input_.u8();
    PerformancePacket mad;
    mad.header.management_class = input_.u8();
    mad.header.method = input_.u8();
    mad.header.attribute.set(input_.u8());
    mad.header.transaction.set(hostile_long_number(input_));
    const DatagramHeaders headers = headers_of(flags, lid_of_act());
    const std::size_t length = input_.below(16);
    for (std::size_t i = 0; i < length; ++i) mad.data[i] = std::byte{input_.u8()};
    enter(where, packet_with(headers, mad_bytes(mad)));
  }
  void segment() {
    const std::uint8_t where = input_.u8();
    PerformancePacket mad;
    mad.header.management_class = management_class::kSubnetAdministration;
    mad.header.class_version = 2;
    const std::uint8_t flags = input_.u8();
    mad.header.method = (flags & 8) != 0 ? method::kGetTable : std::uint8_t{0x92};
    mad.header.transaction.set(input_.u8());
    wire::infiniband::SegmentHeader header;
    header.type = static_cast<wire::infiniband::SegmentType>(input_.u8());
    header.set_flags(flags & 7);
    header.status = input_.u8();
    header.number.set(hostile_number(input_));
    header.length_window.set(hostile_number(input_));
    std::memcpy(mad.reserved.data(), &header, sizeof header);
    enter(where, packet_with(service_headers(lid_of_act(), rig_.second_lid()), mad_bytes(mad)));
  }
  void data() {
    const std::uint8_t where = input_.u8();
    const std::uint8_t flags = input_.u8();
    const std::uint16_t to = lid_of_act();
    DatagramHeaders headers = headers_of(flags, to);
    if ((flags & 1) == 0) headers.qkey = kQkeyOfPairs;
    if ((flags & 16) == 0)
      headers.destination_qp = wire::infiniband::is_multicast_lid(to)
                                   ? wire::infiniband::kMulticastQueuePair
                                   : subnet::QueuePairs::kFirst;
    enter(where, packet_with(headers, std::vector<std::byte>(input_.u16() % 4097)));
  }

  FuzzBytes& input_;
  SubnetRig rig_;
  RecordingLinkEnd cable_;
  NoReceiver receiver_;
  Program program_{rig_.second.mads(1), rig_.clock};
  bool may_manage_ = false;
  Kept before_;
};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paravane::fake::FuzzBytes input(data, size);
  paravane::fake::SubnetFuzz(input).run();
  return 0;
}
