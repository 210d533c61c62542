// A hostile host at the other end of a cable: any bytes in its stream, and any packets and words in
// right frames. The subnet behind the cable is one that a manager has made active; the host is not
// one of those that may manage it.
//
// What must hold besides the sanitizers: each act has an end; no bytes change a LID, the tables or
// a port that is not the cable's; what waits to be sent has a bound; and a line that has a problem
// takes and sends nothing more.

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "cable/cable.h"
#include "cable_script.h"
#include "fuzz_bytes.h"
#include "promise.h"
#include "testing/cable_pipe.h"
#include "testing/management_datagrams.h"
#include "testing/port_orders.h"
#include "testing/subnet_rig.h"
#include "wire/infiniband/datagram.h"

namespace paravane::fake {
namespace {

using cable::FrameKind;
using cable::LinkWord;
using wire::infiniband::PortState;

constexpr int kMostActs = 200;
constexpr std::size_t kFramesOfTurn = 256;
constexpr unsigned kTurnsToSend = 64;

class CableFuzz {
 public:
  explicit CableFuzz(FuzzBytes& input) : input_(input) {
    connect();
    for (const std::uint16_t lid : lids()) lids_before_.push_back(lid);
  }

  void run() {
    for (int acts = 0; acts < kMostActs && !input_.at_end(); ++acts) {
      act(static_cast<CableAct>(input_.below(std::to_underlying(CableAct::kCount))));
      settle();
      require(lids() == lids_before_);
      require(net_.first.port(1)->is_active() && net_.second.port(1)->is_active());
      require(net_.subnet.the_switch().tables().way_to(lids_before_[0]) != 0xFF);
    }
  }

 private:
  void connect() {
    pipe_ = CablePipe();
    end_ = pipe_.other();
    cable_->connect(pipe_.one());
  }
  std::vector<std::uint16_t> lids() {
    return {net_.first_lid(), net_.second_lid(), net_.switch_lid()};
  }

  // As a host's turns go, until all is taken; what is sent may wait for room in the stream.
  void settle() {
    for (unsigned turns = 0; turns < SubnetRig::kMostTurns; ++turns) {
      cable_->heard_event();
      const std::size_t taken = cable_->receive(kFramesOfTurn);
      require(taken <= kFramesOfTurn);
      require(net_.settle());
      cable_->on_time(net_.clock.now);
      cable_->flush();
      const bool has_problem = !cable_->line() || !cable_->line()->problem().empty();
      require(!has_problem || !cable_->line() || !cable_->line()->may_have_more());
      if (has_problem && cable_->line()) cable_->disconnect();
      std::array<std::byte, 65536> sent{};
      const bool has_sent = end_->read(sent).bytes > 0;
      if (taken == 0 && (!has_sent || turns >= kTurnsToSend)) return;
    }
    require(false);
  }

  void hear(std::span<const std::byte> bytes) { put_bytes(pipe_.to_one(), bytes); }

  void act(CableAct what) {
    switch (what) {
      case CableAct::kBytes: {
        std::vector<std::byte> bytes(input_.u8());
        for (std::byte& byte : bytes) byte = std::byte{input_.u8()};
        return hear(bytes);
      }
      case CableAct::kHello: {
        const std::uint16_t version = input_.below(4) == 0 ? input_.u8() : cable::kCableVersion;
        return hear(hello_frame(input_.u8(), version));
      }
      case CableAct::kBeat: return hear(beat_frame());
      case CableAct::kWord: return hear(link_frame(LinkWord{input_.u8()}));
      case CableAct::kPacket: return hear_packet();
      case CableAct::kManagement: return hear_management();
      case CableAct::kTime: net_.clock.now += std::chrono::milliseconds(input_.u16()); return;
      case CableAct::kRoom: pipe_.to_other().room = input_.u16(); return;
      case CableAct::kReconnect: return connect();
      case CableAct::kOrder: {
        constexpr std::array kStates{PortState::kDown, PortState::kArmed, PortState::kActive};
        order_port(port(), kStates[input_.below(kStates.size())]);
        return;
      }
      case CableAct::kSend: {
        const std::uint8_t count = input_.u8();
        const std::uint8_t cables = input_.u8();
        for (unsigned i = 0; i < count; ++i) {
          subnet::Packet packet = packet_to(0x99, 4000);
          packet.cables = cables;
          cable_->send(std::move(packet));
        }
        return;
      }
      case CableAct::kCount: return;
    }
  }

  subnet::Port& port() { return *net_.subnet.the_switch().port(cable_->port()); }

  subnet::Packet packet_to(std::uint16_t lid, std::size_t payload) {
    subnet::Packet packet;
    const std::vector<std::byte> bytes(payload);
    wire::infiniband::write_datagram({.source = 0x99, .destination = lid, .qkey = 1}, bytes,
                                     packet);
    return packet;
  }
  void hear_packet() {
    const std::array<std::uint16_t, 6> targets{
        net_.first_lid(), net_.second_lid(), net_.switch_lid(), 0xC000, 0xFFFF, 0x99};
    const std::uint16_t lid = targets[input_.below(targets.size())];
    const std::uint8_t cables = input_.u8();
    wire::infiniband::DatagramHeaders headers{.source = 0x99, .destination = lid};
    const std::vector<std::byte> payload(std::size_t{4} * input_.below(70));
    headers.destination_qp = input_.below(4);
    headers.lane = input_.below(2) == 0 ? 0 : 15;
    subnet::Packet packet;
    wire::infiniband::write_datagram(headers, payload, packet);
    hear(cable_frame(FrameKind::kPacket, packet, cables));
  }
  void hear_management() {
    const std::uint8_t method = input_.u8();
    const std::uint8_t attribute = input_.u8();
    const auto way = static_cast<std::uint8_t>(1 + input_.below(2));
    // As it is behind the switch of the host that sends it.
    Smp smp = directed(smp_of(method, attribute), {33, way});
    smp.header.class_specific.set(hops_of(1, 2));
    subnet::Packet packet;
    wire::infiniband::write_datagram({.source = 0xFFFF, .destination = 0xFFFF, .lane = 15},
                                     std::as_bytes(std::span(&smp, 1)), packet);
    hear(cable_frame(FrameKind::kPacket, packet));
  }

  FuzzBytes& input_;
  SubnetRig net_;
  std::unique_ptr<cable::Cable> cable_ = cable::Cable::attach("other", net_.subnet, net_.clock);
  CablePipe pipe_;
  std::unique_ptr<CablePipe::End> end_;
  std::vector<std::uint16_t> lids_before_;
};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paravane::fake::FuzzBytes input(data, size);
  paravane::fake::CableFuzz(input).run();
  return 0;
}
