// A hostile host: it has the cluster's certificate and says anything, with seals that are
// right. The input is a list of acts (channel_script.h), most of which make sense; between
// them our own queue pairs send to that host and listen to it.
//
// What must hold besides the sanitizers: a turn stays within its budget, memory that was
// not offered to the host is as it was, and when the channel is closed every request of
// our own ends with one completion, in its order.

#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "channel_script.h"
#include "fuzz_bytes.h"
#include "guestmem/memory_failure.h"
#include "hostile_lanes.h"
#include "promise.h"
#include "testing/engine_rig.h"
#include "testing/raw_peer.h"
#include "testing/tcp_rig.h"
#include "transport/tcp/socket_stream.h"

namespace paravane::fake {
namespace {

constexpr verbs::HostId kPeer{2};
constexpr std::uint32_t kTheirQpn = 77;
constexpr std::uint64_t kOfferedBytes = 640 << 10;
constexpr std::uint64_t kKeptBytes = 16 << 10;
constexpr std::size_t kAdapters = 2;
constexpr std::size_t kQps = 8;  // of them, half on each adapter
constexpr std::int32_t kOperations = 64;
// A block is taken whole, and so is what was read ahead.
constexpr std::int32_t kMostFrames = wire::kMaxBlockBytes / sizeof(wire::FrameHeader) + 64;

class ChannelFuzz {
 public:
  explicit ChannelFuzz(FuzzBytes input) : input_(input), rig_(true, 16 << 20) {
    const std::uint8_t how = input_.u8();
    sealed_ = (how & 1) != 0;
    has_lanes_ = (how & 2) != 0;
    attributes_.timeout = 10;  // 4 ms
    attributes_.retry_count = 1;
    attributes_.rnr_retry = 1;
    constexpr fabric::MacAddress kSecondMac{0x52, 0x54, 0, 0, 1, 0x99};
    second_port_ = rig_.directory(0).join(verbs::AdapterId{2}, "second", kSecondMac);
    second_ = std::make_unique<EngineVm>(verbs::AdapterId{2}, rig_.timers(), *second_port_,
                                         fabric::link_local_gid(kSecondMac), 16 << 20);
    rig_.tcp(0).attach(second_->adapter());
    for (std::size_t i = 0; i < kAdapters; ++i) {
      offered_.at(i) = vm(i).buffer(kOfferedBytes, kEveryRight, 17);
      kept_.at(i) = vm(i).buffer(kKeptBytes, verbs::kAccessLocalWrite, 100);
      vm(i).fill(kept_.at(i), 7);
    }
    for (std::size_t place = 0; place < kQps; ++place) make(place);
    meet();
  }
  ~ChannelFuzz() {
    for (Qp& qp : qps_) qp.qp.reset();
    rig_.tcp(0).detach(second_->adapter());
    second_.reset();
    second_port_.reset();
  }
  ChannelFuzz(const ChannelFuzz&) = delete;
  ChannelFuzz& operator=(const ChannelFuzz&) = delete;

  void run() {
    for (int acts = 0; acts < 400 && !input_.at_end(); ++acts) act();
    finish();
  }

 private:
  struct Qp {
    std::unique_ptr<EngineQp> qp;
    std::uint64_t posted = 0;
    bool sends = false;
  };

  EngineVm& vm(std::size_t index) { return index == 0 ? rig_.a() : *second_; }
  std::size_t adapter_of(std::size_t place) const { return place * kAdapters / kQps; }

  // In each adapter: two that send and listen, one that only listens, one for datagrams.
  void make(std::size_t place) {
    Qp& qp = qps_.at(place);
    EngineVm& owner = vm(adapter_of(place));
    const std::size_t kind = place % (kQps / kAdapters);
    qp.qp.reset();
    if (kind == 3) {
      qp.qp = owner.queue_pair(verbs::QpType::kUnreliableDatagram, true);
      static_cast<void>(bring_up(*qp.qp->qp, verbs::QpState::kReadyToSend, attributes_));
    } else {
      qp.qp = owner.queue_pair(verbs::QpType::kReliableConnected, true);
      EngineRig::bring_up_to(
          *qp.qp, kind == 2 ? verbs::QpState::kReadyToReceive : verbs::QpState::kReadyToSend,
          rig_.b().gid(), kTheirQpn, attributes_);
    }
    qp.posted = 0;
    qp.sends = kind < 2;
  }

  void meet() {
    std::array<int, 2> sockets{};
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets.data()) ==
            0);
    const transport_channel::Seal::Key key{std::byte{3}};
    transport_channel::ChannelConfig config{.host = kPeer};
    if (sealed_) config.send_key = config.receive_key = key;
    config.seals_payload = !has_lanes_;
    require(rig_.tcp(0).open(config, make_stream(UniqueFd(sockets[0])), rig_.now()).has_value());
    peer_.emplace(UniqueFd(sockets[1]),
                  sealed_ ? std::optional<transport_channel::Seal::Key>(key) : std::nullopt,
                  !has_lanes_);
    losses_ = rig_.losses(0).size();
    held_back_.clear();
  }

  std::unique_ptr<transport_channel::Stream> make_stream(UniqueFd socket) {
    if (!has_lanes_) return std::make_unique<transport_tcp::SocketStream>(std::move(socket));
    return lanes_.open(std::move(socket));
  }

  void turns(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      const Result<int> ran = rig_.poll_one(0);
      require(ran.has_value());
      verbs::Budget budget{.bytes = 1 << 20, .operations = kOperations};
      for (std::size_t j = 0; j < kAdapters; ++j) {
        verbs::Budget share = budget;
        vm(j).adapter().run(rig_.now(), share);
      }
      rig_.tcp(0).poll(rig_.now(), budget);
      require(budget.operations >= -2 * kMostFrames);
    }
  }

  void send(const RawPeer::Bytes& record) {
    RawPeer::Bytes bytes = std::exchange(held_back_, {});
    bytes.insert(bytes.end(), record.begin(), record.end());
    const std::size_t later = std::min(bytes.size(), std::exchange(hold_back_, 0));
    held_back_.assign(bytes.end() - static_cast<std::ptrdiff_t>(later), bytes.end());
    std::span<const std::byte> rest = std::span(bytes).first(bytes.size() - later);
    for (int tries = 0; tries < 4 && !peer_->send_some(rest); ++tries) {
      peer_->drain();
      turns(4);
    }
    turns(2);
    if (rig_.losses(0).size() == losses_) return;
    meet();  // it comes again
    peer_->add_hello();
    send_again();
  }
  void send_again() {
    std::span<const std::byte> rest;
    const RawPeer::Bytes hello = peer_->take();
    rest = hello;
    static_cast<void>(peer_->send_some(rest));
    turns(2);
  }

  std::uint32_t some_link() { return input_.below(12); }
  std::uint64_t some_serial() {
    const std::uint8_t pick = input_.u8();
    return pick < 0xE0 ? pick % 32u : std::uint64_t{hostile_number(input_)} << (pick % 33);
  }
  std::uint64_t some_length() {
    const std::uint8_t pick = input_.u8();
    if (pick < 0x80) return pick;
    if (pick < 0xF0) return std::uint64_t{pick % 16u} * 4096 + pick % 5;
    return std::uint64_t{hostile_number(input_)} << (pick % 33);
  }
  template <typename Frame>
  void add(const Frame& frame, std::size_t inside = 0) {
    if (peer_->room() >= sizeof frame + inside) peer_->add(frame, inside);
  }

  void act() {
    const auto what =
        static_cast<ChannelAct>(input_.below(static_cast<std::uint32_t>(ChannelAct::kCount)));
    switch (what) {
      case ChannelAct::kHello: return hello();
      case ChannelAct::kOpen: return open();
      case ChannelAct::kRequest: return request();
      case ChannelAct::kMore: {
        const wire::More more{.link = Le32(some_link()), .offset = Le64(some_length())};
        return add(more, input_.u8());
      }
      case ChannelAct::kPlain: return plain();
      case ChannelAct::kAck: {
        const Le32 link(some_link());
        return add(wire::Ack{.link = link, .serial = Le64(some_serial())});
      }
      case ChannelAct::kNak: return nak();
      case ChannelAct::kData: {
        wire::Data data;
        data.link.set(some_link());
        data.serial.set(some_serial());
        data.offset.set(some_length());
        return add(data, input_.u8());
      }
      case ChannelAct::kWord: {
        wire::Word word{};
        word.link.set(some_link());
        word.serial.set(some_serial());
        return add(word);
      }
      case ChannelAct::kDatagram: return datagram();
      case ChannelAct::kBend: {
        const std::size_t at = input_.u8();
        return peer_->bend(at, static_cast<std::byte>(input_.u8()));
      }
      case ChannelAct::kEnd: return end();
      case ChannelAct::kRaw: {
        RawPeer::Bytes bytes(input_.u8());
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(input_.u8());
        return send(bytes);
      }
      case ChannelAct::kPost: return post();
      case ChannelAct::kReceive: {
        const std::size_t place = input_.below(kQps);
        const EngineBuffer& buffer = offered_.at(adapter_of(place));
        qps_.at(place).qp->post(receive_request(1, {buffer.sge(0, some_length() % 100'000)}));
        return;
      }
      case ChannelAct::kHoldPeers: return rig_.tcp(0).hold_peers(std::chrono::seconds(input_.u8()));
      case ChannelAct::kTurns: return turns(1 + input_.below(8));
      case ChannelAct::kTime:
        rig_.skip_time(std::chrono::milliseconds(input_.u8()));
        rig_.timers().run_due(rig_.now());
        return turns(2);
      case ChannelAct::kFetch: peer_->drain(); return;
      case ChannelAct::kMeet: return meet();
      case ChannelAct::kQueuePair: return change_qp();
      case ChannelAct::kRegion: return change_region();
      case ChannelAct::kForget:
        if (input_.below(2) == 0) {
          rig_.forget_peer(0);
        } else {
          rig_.know_peer(0);
        }
        return;
      case ChannelAct::kLane:
        return lanes_.change(input_, [this](const auto& frame) { add(frame); });
      case ChannelAct::kClear: return clear();
      case ChannelAct::kPiece:
        return lanes_.send(input_, some_length() % (2 * wire::kLanePieceBytes));
      case ChannelAct::kHoldBack: hold_back_ = input_.u8() * std::size_t{16}; return;
      case ChannelAct::kCount: return;
    }
  }

  void hello() {
    wire::Hello frame;
    const std::uint8_t how = input_.u8();
    frame.magic.set(wire::kHelloMagic + (how >= 0xF0 ? 1 : 0));
    frame.lowest_version.set(how % 16 == 15 ? 2 : 1);
    frame.highest_version.set(1);
    frame.incarnation.set(how / 16 % 4 == 3 ? 0 : 5);
    frame.capabilities.set((how % 16 >= 8 ? wire::kTrunks : 0) | (how % 4 != 1 ? wire::kHolds : 0) |
                           (has_lanes_ && how % 4 != 3 ? wire::kLaneFrames : 0));
    add(frame);
  }

  void open() {
    wire::Open frame{};
    frame.link.set(some_link());
    const std::size_t place = input_.below(kQps);
    const std::uint8_t wrong = input_.u8();
    frame.requester_qpn.set(kTheirQpn + (wrong == 0x81 ? 1 : 0));
    frame.responder_qpn.set(qps_.at(place).qp->qp->number());
    frame.gid_type.set(wrong == 0x82 ? 1 : 2);
    frame.requester_gid = rig_.b().gid().raw;
    frame.responder_gid = vm(adapter_of(wrong == 0x83 ? 0 : place)).gid().raw;
    frame.segment.set(wrong == 0x84 ? 7 : 0);
    frame.requester_life.set(wrong == 0x85 ? 0 : 1 + wrong % 2);
    frame.responder_life.set(wrong == 0x86 ? 1 : 0);
    add(frame);
  }

  void request() {
    wire::Request frame{};
    frame.link.set(some_link());
    static constexpr verbs::WrOpcode kOpcodes[] = {
        verbs::WrOpcode::kRdmaWrite,   verbs::WrOpcode::kRdmaWriteWithImm,
        verbs::WrOpcode::kSend,        verbs::WrOpcode::kSendWithImm,
        verbs::WrOpcode::kRdmaRead,    verbs::WrOpcode::kCompareAndSwap,
        verbs::WrOpcode::kFetchAndAdd, verbs::WrOpcode::kSendWithInvalidate};
    const std::uint32_t opcode = input_.below(9);
    frame.opcode.set(opcode < 8 ? std::to_underlying(kOpcodes[opcode]) : input_.u8());
    frame.serial.set(some_serial());
    frame.length.set(opcode == 5 || opcode == 6 ? 8 : some_length());
    const bool by_lane = has_lanes_ && input_.u8() % 2 != 0;
    frame.by_lane.set(by_lane ? 1 : 0);
    const std::uint32_t region = input_.below(8);
    const EngineBuffer& buffer =
        region == 7 ? kept_.at(region % kAdapters) : offered_.at(region % kAdapters);
    const std::uint32_t offset = input_.u8();
    frame.rkey.set(buffer.key);
    frame.remote_addr.set((buffer.start + 7) / 8 * 8 + offset * 8 +
                          (offset >= 0xF0 ? kOfferedBytes - 3000 : 0));
    add(frame, by_lane ? 0 : input_.u8());
  }

  void clear() {
    const std::uint32_t which = input_.below(3);
    const Le32 link(some_link());
    const Le64 serial(some_serial());
    if (which == 2) return add(wire::AnswerDue{.link = link, .serial = serial});
    const Le64 offset(some_length());
    const Le32 bytes(static_cast<std::uint32_t>(some_length()));
    const wire::Le8 lane(static_cast<std::uint8_t>(HostileLanes::some_lane(input_)));
    const Le32 number(input_.u8() % 32U);
    if (which == 1) {
      return add(wire::ClearAnswer{.link = link,
                                   .serial = serial,
                                   .offset = offset,
                                   .bytes = bytes,
                                   .lane = lane,
                                   .number = number});
    }
    add(wire::Clear{.link = link,
                    .serial = serial,
                    .offset = offset,
                    .bytes = bytes,
                    .lane = lane,
                    .number = number});
  }
  void plain() {
    const std::uint32_t which = input_.below(12);
    const Le32 link(some_link());
    switch (which) {
      case 0: return add(wire::Ping{});
      case 1: return add(wire::Pong{});
      case 2: return add(wire::Ping{});
      case 3: return add(wire::Abort{.link = link});
      case 4: return add(wire::Close{.link = link});
      case 5: return add(wire::Opened{.link = link, .responder_life = Le64(input_.below(4))});
      case 6: return add(wire::Closed{.link = link});
      case 7: return add(wire::TrunkOffer{});
      case 8: return add(wire::TrunkReady{});
      case 9: {
        const std::uint8_t time = input_.u8();
        const Le32 milliseconds(time < 0xF0 ? time * 64U : hostile_number(input_));
        return add(wire::Hold{.milliseconds = milliseconds, .number = Le64(input_.u8())});
      }
      case 10: {
        const Le32 milliseconds(hostile_number(input_));
        return add(wire::Held{.milliseconds = milliseconds, .number = Le64(input_.below(4))});
      }
      default: return add(wire::Ready{.link = link});
    }
  }

  void nak() {
    wire::Nak frame{};
    frame.link.set(some_link());
    frame.serial.set(some_serial());
    frame.outcome.set(static_cast<std::uint8_t>(input_.below(8)));
    frame.status.set(static_cast<std::uint8_t>(input_.below(16)));
    frame.rnr_timer.set(input_.u8());
    add(frame);
  }

  void datagram() {
    wire::Datagram frame{};
    const std::size_t place = input_.below(kQps);
    const std::uint8_t wrong = input_.u8();
    frame.source_qpn.set(wrong == 0x81 ? 0xFFFF'FFFF : 5);
    frame.dest_qpn.set(qps_.at(place).qp->qp->number());
    frame.qkey.set(wrong == 0x82 ? 0 : attributes_.qkey);
    frame.gid_type.set(wrong == 0x83 ? 9 : 2);
    frame.with_imm.set(wrong % 2);
    frame.source_gid = wrong == 0x84 ? rig_.a().gid().raw : rig_.b().gid().raw;
    frame.dest_gid = vm(adapter_of(place)).gid().raw;
    frame.segment.set(wrong == 0x85 ? 7 : 0);
    add(frame, wrong >= 0xC0 ? 0 : some_length() % (wire::kMaxDatagramPayload + 2));
  }

  void end() {
    const std::uint8_t pick = input_.u8();
    const std::size_t direct = pick < 0x60   ? 0
                               : pick < 0x70 ? (pick % 16u + 1) * (wire::kMaxDatagramPayload / 16)
                                             : std::min<std::size_t>((pick % 64u) * 4096 + pick % 5,
                                                                     wire::kMaxDirectBytes);
    const std::uint8_t verdict = input_.u8();
    const std::uint32_t says = verdict >= 0xF0   ? verdict
                               : verdict >= 0xC0 ? wire::kVoid
                                                 : wire::kGood;
    send(verdict % 8 == 7 ? peer_->take(direct, says, std::byte{1}) : peer_->take(direct, says));
  }

  void post() {
    const std::size_t place = input_.below(kQps);
    Qp& qp = qps_.at(place);
    const std::uint32_t what = input_.below(5);
    const std::uint64_t bytes = some_length() % 300'000;
    if (!qp.sends || qp.posted - qp.qp->sends.size() > 32) return;
    const EngineBuffer& own = offered_.at(adapter_of(place));
    const std::uint64_t id = qp.posted++;
    switch (what) {
      case 0: return qp.qp->post(send_request(id, {own.sge(0, bytes)}));
      case 1: return qp.qp->post(write_request(id, {own.sge(8, bytes)}, 0x1000, 5));
      case 2: return qp.qp->post(read_request(id, {own.sge(16, bytes)}, 0x1000, 5));
      case 3: return qp.qp->post(add_request(id, own.sge(24, 8), 0x1000, 5, 1));
      default: return qp.qp->post(send_request(id, {kept_.at(adapter_of(place)).sge(0, 64)}));
    }
  }

  void change_qp() {
    const std::size_t place = input_.below(kQps);
    Qp& qp = qps_.at(place);
    if (input_.below(2) == 0) {
      static_cast<void>(move(*qp.qp->qp, verbs::QpState::kError, {}));
    } else {
      make(place);
    }
  }

  void change_region() {
    const std::size_t index = input_.below(kAdapters);
    EngineBuffer& buffer = offered_.at(index);
    if (!vm(index).adapter().regions().remove(buffer.key)) return;
    if (regions_ == 8) return;
    ++regions_;
    gone_.push_back(std::move(buffer));
    buffer = vm(index).buffer(kOfferedBytes, kEveryRight, 17);
  }

  void finish() {
    rig_.tcp(0).close(kPeer, "closed", rig_.now());
    peer_.reset();
    for (int i = 0; i < 4000; ++i) {
      rig_.timers().run_due(rig_.now());
      turns(2);
      if (all_done()) break;
      rig_.skip_time(std::chrono::milliseconds(10));
    }
    require(all_done());
    for (const Qp& qp : qps_) {
      if (!qp.sends) continue;
      const std::vector<std::uint64_t> ids = qp.qp->sends.wr_ids();
      for (std::uint64_t i = 0; i < qp.posted; ++i) require(ids.at(i) == i);
    }
    for (std::size_t i = 0; i < kAdapters; ++i) {
      require(vm(i).memory().loans().empty());
      require(vm(i).read(kept_.at(i), 0, kKeptBytes) == EngineVm::pattern(kKeptBytes, 7));
    }
  }
  bool all_done() const {
    return std::ranges::all_of(qps_, [](const Qp& qp) {
      require(qp.qp->sends.size() <= qp.posted || !qp.sends);
      return !qp.sends || qp.qp->sends.size() == qp.posted;
    });
  }

  FuzzBytes input_;
  TcpRig rig_;
  bool sealed_ = true;
  bool has_lanes_ = false;
  HostileLanes lanes_;
  verbs::QpAttributes attributes_ = default_attributes();
  std::unique_ptr<verbs::FabricPort> second_port_;
  std::unique_ptr<EngineVm> second_;
  std::array<EngineBuffer, kAdapters> offered_;  // to the host
  std::array<EngineBuffer, kAdapters> kept_;     // from it
  std::vector<EngineBuffer> gone_;
  unsigned regions_ = 0;
  std::array<Qp, kQps> qps_;
  std::optional<RawPeer> peer_;
  std::size_t losses_ = 0;
  std::size_t hold_back_ = 0;  // of the next record, bytes
  RawPeer::Bytes held_back_;
};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (!paravane::install_memory_failure_handler()) std::abort();
  spdlog::set_level(spdlog::level::off);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paravane::fake::ChannelFuzz fuzz{paravane::fake::FuzzBytes(data, size)};
  fuzz.run();
  return 0;
}
