// Native RoCE endpoints: two pairs of honest queue pairs talk over a network in any weather, one
// with a timeout and one that waits for ever, and beside them a hostile peer sends packets that
// nearly fit its connections, with a right CRC.
//
// What must hold besides the sanitizers: a turn stays within its budget; memory that was not
// offered is as it was; every request ends with one completion, in its order; and what the honest
// ones asked of each other happened once and in order, whatever the network and the hostile peer
// did, and whichever engine took over. Where their path led elsewhere, or a timeout ended their
// connection, what ended well happened at least once. (A connection that has ended at one end alone
// leaves the other waiting, if it waits for ever.)
//
// A third connection leads through a router, which the hostile peer plays. It counts as answered
// only if a number of ours came back, and no more ways are probed than may be.

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/wire_int.h"
#include "fuzz_bytes.h"
#include "guestmem/memory_failure.h"
#include "promise.h"
#include "roce_flow_script.h"
#include "testing/bad_weather.h"
#include "testing/roce_rig.h"
#include "wire/roce/probe.h"

namespace paravane::fake {
namespace {

using std::chrono::milliseconds;
using verbs::QpState;
using wire::roce::Opcode;
using wire::roce::Packet;

constexpr std::uint32_t kTheirQpn = 77;
constexpr std::uint64_t kOfferedBytes = 64 << 10;
constexpr std::uint64_t kKeptBytes = 16 << 10;
constexpr std::uint64_t kSlot = 2048;  // for one message of the honest ones
constexpr std::size_t kMostTalks = 96;
constexpr std::size_t kStrangers =
    3;  // queue pairs that the hostile peer knows; the last: datagrams
constexpr verbs::Gid kRoutedGid{{0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9}};
constexpr verbs::SegmentId kRoutedSegment{7};
constexpr std::int32_t kOvershoot = 512;  // of a turn's operations: a superframe is taken whole

std::uint64_t first_word(const std::vector<std::byte>& bytes) {
  Le64 word;
  std::memcpy(&word, bytes.data(), sizeof word);
  return word.get();
}

// One direction of the honest talk.
struct Talk {
  EngineVm* from = nullptr;
  EngineVm* to = nullptr;
  EngineQp* sender = nullptr;
  EngineQp* receiver = nullptr;
  EngineBuffer out{};    // a slot for each request
  EngineBuffer inbox{};  // a slot for each send
  EngineBuffer word{};   // for atomics
  EngineBuffer old{};    // what they found
  std::vector<std::uint32_t> operations{};
  bool waits_for_ever = false;
};

class RoceFlowFuzz {
 public:
  explicit RoceFlowFuzz(FuzzBytes input)
      : input_(input), rig_((input_.u8() & 1) != 0 ? 64 : 1, true, 4 << 20) {
    honest_.path_mtu = 1;  // 256
    honest_.max_reads = 3;
    honest_.max_dest_reads = 3;
    hostile_ = honest_;
    hostile_.timeout = 10;  // 4 ms
    hostile_.retry_count = 1;
    hostile_.rnr_retry = 1;
    for (std::size_t pair = 0; pair < 2; ++pair) {
      honest_.timeout = pair == 0 ? 0 : 12;  // 17 ms
      honest_.rnr_retry = pair == 0 ? 7 : 3;
      EngineQp& at_a = *honest_a_.at(pair);
      EngineQp& at_b = *honest_b_.at(pair);
      rig_.connect(rig_.a(), at_a, rig_.b(), at_b, honest_);
      prepare(talks_.at(2 * pair), rig_.a(), at_a, rig_.b(), at_b);
      prepare(talks_.at(2 * pair + 1), rig_.b(), at_b, rig_.a(), at_a);
      talks_.at(2 * pair).waits_for_ever = talks_.at(2 * pair + 1).waits_for_ever = pair == 0;
    }
    rig_.a().fill(kept_, 7);
    rig_.directory().set_native(verbs::AdapterId{0}, &rig_.roce());
    rig_.directory().set_held(
        {{.gid = {.segment = kRoutedSegment, .gid = kRoutedGid, .type = verbs::GidType::kRoceV2},
          .owner = "a VM behind a router"}});
    allow_routed(true);
    make_routed();
    set_weather({});
    for (std::size_t place = 0; place < kStrangers; ++place) make(place);
  }

  void run() {
    for (int acts = 0; acts < 300 && !input_.at_end(); ++acts) act();
    finish();
  }

 private:
  struct Stranger {
    std::unique_ptr<EngineQp> qp;
    std::uint64_t posted = 0;
  };

  static std::unique_ptr<EngineQp> connection(EngineVm& vm) {
    return vm.queue_pair(verbs::QpType::kReliableConnected, true);
  }

  static void prepare(Talk& talk, EngineVm& from, EngineQp& sender, EngineVm& to,
                      EngineQp& receiver) {
    talk = {.from = &from, .to = &to, .sender = &sender, .receiver = &receiver};
    talk.out = from.buffer(kMostTalks * 8 + kSlot);
    talk.inbox = to.buffer(kMostTalks * kSlot);
    talk.word = to.buffer(8);
    talk.old = from.buffer(kMostTalks * 8 + kSlot);
  }

  void make(std::size_t place) {
    Stranger& stranger = strangers_.at(place);
    stranger.qp.reset();
    stranger.posted = 0;
    if (place + 1 == kStrangers) {
      stranger.qp = rig_.a().queue_pair(verbs::QpType::kUnreliableDatagram, true);
      static_cast<void>(bring_up(*stranger.qp->qp, QpState::kReadyToSend, hostile_));
      return;
    }
    stranger.qp = rig_.a().queue_pair(verbs::QpType::kReliableConnected, true);
    hostile_.av.dmac = RoceRig::mac(1);
    EngineRig::bring_up_to(*stranger.qp, QpState::kReadyToSend, rig_.b().gid(), kTheirQpn,
                           hostile_);
  }

  void allow_routed(bool routed) {
    rig_.directory().set_networks(
        {{verbs::SegmentId::kBuiltIn, {.port_group = "a", .native = true, .routed = routed}},
         {kRoutedSegment, {.port_group = "b", .native = true, .routed = true}}});
  }
  void make_routed() {
    routed_ = rig_.a().queue_pair();
    verbs::QpAttributes attributes = hostile_;
    attributes.av.dmac = RoceRig::mac(1);
    EngineRig::bring_up_to(*routed_, QpState::kReadyToSend, kRoutedGid, kTheirQpn, attributes);
  }

  void set_weather(RoceWire::Weather weather) {
    rig_.wire().set_weather([this, weather = std::move(weather)](unsigned side, FrameBytes frame) {
      if (side == 0) note_probe(frame);
      if (weather) return weather(side, std::move(frame));
      return std::vector<FrameBytes>{std::move(frame)};
    });
  }
  void note_probe(const FrameBytes& bytes) {
    const auto frame = wire::roce::parse_frame(bytes);
    require(frame.has_value());
    if (frame->packet.opcode != Opcode::kProbe) return;
    const auto nonce = wire::roce::read_probe(frame->payload);
    require(nonce && std::ranges::find(nonces_, *nonce) == nonces_.end());
    nonces_.push_back(*nonce);
  }

  void probe() {
    const std::uint32_t what = input_.below(6);
    const bool answers = what == 2 || what == 3;
    wire::roce::ProbeNonce nonce{std::byte{input_.u8()}};
    if (answers && !nonces_.empty()) {
      const std::size_t back = what == 2 ? 1 : 1 + std::to_integer<std::size_t>(nonce[0]);
      nonce = nonces_.at(nonces_.size() - std::min(back, nonces_.size()));
    }
    switch (what) {
      case 0:
        if (routed_->state() != QpState::kReadyToSend) make_routed();
        routed_->post(send_request(1, {offered_.sge(0, 64)}));
        return turns(1, 64);
      case 5: return allow_routed(nonce[0] != std::byte{0});
      default: break;
    }
    const std::uint32_t qp_place = input_.below(kStrangers);
    Packet packet = packet_for(qp_place, what == 1 ? Opcode::kProbe : Opcode::kProbeAnswer);
    packet.destination_qp = 0;
    packet.route.source = kRoutedGid.raw;
    has_answered_ = has_answered_ || (answers && !nonces_.empty());
    rig_.wire().inject(0, frame_of(packet, wire::roce::probe_payload(nonce)));
    turns(1, 64);
    check_probes();
  }
  void check_probes() {
    const auto reports = rig_.roce().probes_of(verbs::AdapterId{0});
    require(reports.size() <= transport_roce::RouterProbes::kMost);
    for (const transport_roce::ProbeReport& report : reports) {
      require(has_answered_ || report.state != transport_roce::ProbeState::kAnswered);
    }
  }

  void turns(std::uint32_t count, std::int32_t operations) {
    for (std::uint32_t i = 0; i < count; ++i) {
      rig_.timers().run_due(rig_.now());
      for (unsigned side = 0; side < 2; ++side) {
        verbs::Budget share{.bytes = 65'536, .operations = operations};
        rig_.vm(side).adapter().run(rig_.now(), share);
      }
      verbs::Budget budget{.bytes = 65'536, .operations = operations};
      rig_.local().poll(rig_.now(), budget);
      rig_.roce().poll(rig_.now(), budget);
      require(budget.operations >= -kOvershoot);
    }
  }

  void act() {
    const auto what =
        static_cast<RoceFlowAct>(input_.below(static_cast<std::uint32_t>(RoceFlowAct::kCount)));
    switch (what) {
      case RoceFlowAct::kTalk: return talk();
      case RoceFlowAct::kWeather: return change_weather();
      case RoceFlowAct::kPath: return change_path(input_.below(4));
      case RoceFlowAct::kRequest: return request();
      case RoceFlowAct::kAnswer: return answer();
      case RoceFlowAct::kDatagram: return datagram();
      case RoceFlowAct::kRaw: {
        FrameBytes bytes(input_.u8());
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(input_.u8());
        return rig_.wire().inject(0, std::move(bytes));
      }
      case RoceFlowAct::kPost: return post();
      case RoceFlowAct::kReceive: {
        EngineQp& qp = *strangers_.at(input_.below(kStrangers)).qp;
        return qp.post(receive_request(1, {offered_.sge(0, 16 * input_.u8())}));
      }
      case RoceFlowAct::kTurns: {
        const std::uint32_t count = 1 + input_.below(16);
        return turns(count, static_cast<std::int32_t>(1 + input_.below(64)));
      }
      case RoceFlowAct::kTime: return rig_.advance(milliseconds(input_.u8() % 64));
      case RoceFlowAct::kRoom: return rig_.wire().set_room(1 + input_.u8());
      case RoceFlowAct::kQueuePair: return change_qp();
      case RoceFlowAct::kRegion:
        if (!rig_.a().adapter().regions().remove(offered_.key) || regions_ == 4) return;
        ++regions_;
        gone_.push_back(std::move(offered_));
        offered_ = rig_.a().buffer(kOfferedBytes, kEveryRight, 17);
        return;
      case RoceFlowAct::kProbe: return probe();
      case RoceFlowAct::kHandOver: return hand_over();
      case RoceFlowAct::kCount: return;
    }
  }

  // The port is opened some turns later.
  void hand_over() {
    std::vector<EngineQp*> qps{routed_.get()};
    for (const auto& qp : honest_a_) qps.push_back(qp.get());
    for (const Stranger& stranger : strangers_) qps.push_back(stranger.qp.get());
    const std::vector<std::byte> state = rig_.save(0, qps);
    rig_.end_engine(0, qps);
    require(rig_.load(0, state, qps).has_value());
    require(rig_.save(0, qps) == state);
    turns(input_.below(4), 64);
    rig_.open_door(0);
  }

  // The first word of a send tells its number.
  void talk() {
    Talk& talk = talks_.at(input_.below(4));
    const std::uint32_t operation = input_.below(4);
    const std::uint64_t bytes = 8 + input_.u8() * std::uint64_t{7};
    const std::uint64_t id = talk.operations.size();
    if (id == kMostTalks) return;
    talk.operations.push_back(operation);
    const Le64 number(id);
    talk.from->write(talk.out, 8 * id, std::as_bytes(std::span(&number, 1)));
    const std::uint64_t slot = id * kSlot;
    switch (operation) {
      case 0:
        talk.receiver->post(receive_request(id, {talk.inbox.sge(slot, kSlot)}));
        return talk.sender->post(send_request(id, {talk.out.sge(8 * id, bytes)}));
      case 1:
        return talk.sender->post(write_request(id, {talk.out.sge(8 * id, bytes)},
                                               talk.inbox.start + slot, talk.inbox.key));
      case 2:
        return talk.sender->post(read_request(id, {talk.old.sge(8 * kMostTalks, kSlot)},
                                              talk.inbox.start + slot, talk.inbox.key));
      default:
        return talk.sender->post(
            add_request(id, talk.old.sge(8 * id, 8), talk.word.start, talk.word.key, 1));
    }
  }

  void change_weather() {
    const auto share = [&] { return input_.u8() % 64 / 128.0; };
    BadWeather::Shares shares;
    shares.lost = share();
    shares.repeated = share();
    shares.late = share();
    shares.damaged = share();
    set_weather(BadWeather(shares, input_.u8()));
  }

  // What was under way when the path led elsewhere may have been executed, so the connection can be
  // over when it leads back (docs/roce.md).
  void change_path(std::uint32_t where) {
    if (where < 2) has_moved_ = true;
    rig_.directory().set_link(verbs::AdapterId{1}, where != 1);
    rig_.directory().set_detour([this, where](const fabric::Directory::Leg&) -> verbs::Transport* {
      if (where == 0) return nullptr;
      return &rig_.roce();
    });
    rig_.directory().detours_changed();
  }

  std::size_t some_stranger() { return input_.below(kStrangers); }
  // Most are small.
  std::uint32_t distance() {
    const std::uint8_t pick = input_.u8();
    if (pick < 0x60) return 0;
    return pick < 0xF0 ? pick % 16u - 6 : hostile_number(input_);
  }
  std::size_t some_bytes() {
    const std::uint8_t pick = input_.u8();
    if (pick < 0x80) return pick % 2 == 0 ? 256 : pick;
    return pick < 0xC0 ? 0 : (pick % 64u) * 16;
  }

  Packet packet_for(std::size_t place, Opcode opcode) {
    const std::uint8_t wrong = input_.u8();
    Packet packet;
    packet.route = {.network = wire::roce::Network::kV2Ipv6,
                    .source_mac = RoceRig::mac(1),
                    .destination_mac = RoceRig::mac(wrong == 0x81 ? 1 : 0),
                    .source = (wrong == 0x82 ? rig_.a() : rig_.b()).gid().raw,
                    .destination = (wrong == 0x83 ? rig_.b() : rig_.a()).gid().raw,
                    .hop_limit = 64,
                    .udp_source_port = 50'000};
    packet.opcode = opcode;
    packet.destination_qp = strangers_.at(place).qp->qp->number() + (wrong == 0x84 ? 50 : 0);
    if (wrong == 0x85) packet.pkey = 0x1234;
    if (wrong % 7 == 0) packet.route.traffic_class |= 3;  // the network has marked it
    packet.solicited = wrong % 2 == 1;
    packet.migrated = wrong % 3 != 0;
    packet.wants_ack = wrong % 5 != 0;
    return packet;
  }
  void inject(const Packet& packet, std::size_t bytes) {
    rig_.wire().inject(0, frame_of(packet, payload_of(bytes, 3)));
  }

  void request() {
    static constexpr Opcode kRequests[] = {
        Opcode::kSendFirst,   Opcode::kSendMiddle,         Opcode::kSendLast,
        Opcode::kSendOnly,    Opcode::kSendOnlyImm,        Opcode::kSendLastImm,
        Opcode::kWriteFirst,  Opcode::kWriteMiddle,        Opcode::kWriteLast,
        Opcode::kWriteOnly,   Opcode::kWriteOnlyImm,       Opcode::kWriteLastImm,
        Opcode::kFetchAdd,    Opcode::kCompareSwap,        Opcode::kReadRequest,
        Opcode::kReadRequest, Opcode::kSendLastInvalidate, Opcode::kSendOnlyInvalidate};
    const Opcode opcode = kRequests[input_.below(std::size(kRequests))];
    const std::size_t place = some_stranger();
    Packet packet = packet_for(place, opcode);
    const auto next = rig_.roce().next_packets(*strangers_.at(place).qp->qp);
    const std::uint32_t expected = next ? next->expected.value() : hostile_.receive_psn;
    packet.psn = (expected + distance()) & 0xFF'FFFF;
    const std::size_t bytes = some_bytes();
    const std::uint8_t region = input_.u8();
    packet.address = (offered_.start + 7) / 8 * 8 + region % 64 * 8;
    packet.rkey = region == 0xF7 ? kept_.key : offered_.key;
    if (region >= 0xF8) packet.address += kOfferedBytes - 64;
    packet.length = region % 4 == 0 ? hostile_number(input_) % 4096
                                    : static_cast<std::uint32_t>(bytes * (region % 4));
    packet.swap_or_add = region;
    packet.invalidated_key = region % 8 == 1 ? offered_.key : 0;
    inject(packet, bytes);
  }

  void answer() {
    static constexpr Opcode kAnswers[] = {
        Opcode::kAcknowledge,        Opcode::kAcknowledge,           Opcode::kReadResponseFirst,
        Opcode::kReadResponseMiddle, Opcode::kReadResponseLast,      Opcode::kReadResponseOnly,
        Opcode::kAtomicAcknowledge,  Opcode::kCongestionNotification};
    const Opcode opcode = kAnswers[input_.below(std::size(kAnswers))];
    const std::size_t place = some_stranger();
    Packet packet = packet_for(place, opcode);
    const auto next = rig_.roce().next_packets(*strangers_.at(place).qp->qp);
    const std::uint32_t unanswered = next ? next->unanswered.value() : hostile_.send_psn;
    packet.psn = (unanswered + distance()) & 0xFF'FFFF;
    packet.syndrome = input_.u8();
    packet.original = packet.syndrome;
    inject(packet, some_bytes());
  }

  void datagram() {
    Packet packet = packet_for(kStrangers - 1, Opcode::kDatagramOnly);
    const std::uint8_t wrong = input_.u8();
    packet.qkey = wrong == 1 ? 0 : hostile_.qkey;
    packet.source_qp = 5;
    inject(packet, some_bytes());
  }

  void post() {
    const std::size_t place = input_.below(kStrangers - 1);
    Stranger& stranger = strangers_.at(place);
    const std::uint32_t what = input_.below(5);
    const std::uint64_t bytes = std::uint64_t{input_.u8()} * 64;
    if (stranger.posted - stranger.qp->sends.size() > 32) return;
    const std::uint64_t id = stranger.posted++;
    switch (what) {
      case 0: return stranger.qp->post(send_request(id, {offered_.sge(0, bytes)}));
      case 1: return stranger.qp->post(write_request(id, {offered_.sge(8, bytes)}, 0x1000, 5));
      case 2: return stranger.qp->post(read_request(id, {offered_.sge(16, bytes)}, 0x1000, 5));
      case 3: return stranger.qp->post(add_request(id, offered_.sge(24, 8), 0x1000, 5, 1));
      default: return stranger.qp->post(send_request(id, {kept_.sge(0, 64)}));
    }
  }

  void change_qp() {
    const std::size_t place = some_stranger();
    verbs::QueuePair& qp = *strangers_.at(place).qp->qp;
    switch (input_.below(3)) {
      case 0: static_cast<void>(move(qp, QpState::kError, {})); return;
      case 1: return make(place);
      default: break;
    }
    verbs::QpAttributes changed = qp.query();
    if (changed.state != QpState::kReadyToSend || place + 1 == kStrangers) return;
    static_cast<void>(move(qp, QpState::kSendQueueDrain, {}));
    turns(2, 64);
    changed.state = QpState::kSendQueueDrain;
    changed.av.hop_limit = 9;
    changed.timeout = 8;
    static_cast<void>(qp.modify(
        changed, verbs::kAttrState | verbs::kAttrAddress | verbs::kAttrTimeout, rig_.now()));
    static_cast<void>(move(qp, QpState::kReadyToSend, {}));
  }

  void finish() {
    check_probes();
    set_weather({});
    rig_.wire().set_room(1000);
    change_path(2);
    for (int i = 0; i < 400 && !all_done(); ++i) rig_.advance(milliseconds(100));
    require(all_done());
    for (const Stranger& stranger : strangers_) {
      const std::vector<std::uint64_t> ids = stranger.qp->sends.wr_ids();
      for (std::uint64_t i = 0; i < stranger.posted; ++i) require(ids.at(i) == i);
    }
    require(rig_.a().read(kept_, 0, kKeptBytes) == EngineVm::pattern(kKeptBytes, 7));
    for (const Talk& talk : talks_) check(talk);
  }
  bool all_done() {
    return std::ranges::all_of(strangers_,
                               [](const Stranger& one) {
                                 require(one.qp->sends.size() <= one.posted);
                                 return one.qp->sends.size() == one.posted;
                               }) &&
           std::ranges::all_of(talks_, [this](const Talk& talk) {
             require(talk.sender->sends.size() <= talk.operations.size());
             return (has_moved_ && talk.waits_for_ever) ||
                    talk.sender->sends.size() == talk.operations.size();
           });
  }

  void check(const Talk& talk) const {
    const std::vector<std::uint64_t> ids = talk.sender->sends.wr_ids();
    for (std::uint64_t id = 0; id < ids.size(); ++id) require(ids.at(id) == id);
    if (has_moved_ || !talk.waits_for_ever) return check_at_least_once(talk);
    std::uint64_t adds = 0;
    std::size_t received = 0;
    for (std::uint64_t id = 0; id < ids.size(); ++id) {
      require(talk.sender->sends.at(id).status == verbs::WcStatus::kSuccess);
      const std::uint32_t operation = talk.operations.at(id);
      if (operation == 3) {
        require(first_word(talk.from->read(talk.old, 8 * id, 8)) == adds++);
      } else if (operation < 2) {
        require(first_word(talk.to->read(talk.inbox, id * kSlot, 8)) == id);
      }
      if (operation == 0) require(talk.receiver->receives.at(received++).wr_id == id);
    }
    require(talk.receiver->receives.size() == received);
    require(first_word(talk.to->read(talk.word, 0, 8)) == adds);
  }

  // Messages that came twice have taken receives of others.
  static void check_at_least_once(const Talk& talk) {
    std::set<std::uint64_t> arrived;
    for (std::uint64_t slot = 0; slot < talk.operations.size(); ++slot) {
      arrived.insert(first_word(talk.to->read(talk.inbox, slot * kSlot, 8)));
    }
    std::uint64_t adds = 0;
    for (const verbs::Completion& done : talk.sender->sends.all()) {
      if (done.status != verbs::WcStatus::kSuccess) continue;
      const std::uint32_t operation = talk.operations.at(done.wr_id);
      if (operation == 3) ++adds;
      if (operation == 0) require(arrived.contains(done.wr_id));
    }
    require(first_word(talk.to->read(talk.word, 0, 8)) >= adds);
  }

  FuzzBytes input_;
  RoceRig rig_;
  verbs::QpAttributes honest_ = default_attributes();
  verbs::QpAttributes hostile_ = default_attributes();
  std::array<std::unique_ptr<EngineQp>, 2> honest_a_ = {connection(rig_.a()), connection(rig_.a())};
  std::array<std::unique_ptr<EngineQp>, 2> honest_b_ = {connection(rig_.b()), connection(rig_.b())};
  std::array<Talk, 4> talks_;
  bool has_moved_ = false;
  EngineBuffer offered_ = rig_.a().buffer(kOfferedBytes, kEveryRight, 17);  // to the hostile peer
  EngineBuffer kept_ = rig_.a().buffer(kKeptBytes, verbs::kAccessLocalWrite, 100);
  std::vector<EngineBuffer> gone_;
  unsigned regions_ = 0;
  std::array<Stranger, kStrangers> strangers_;
  std::unique_ptr<EngineQp> routed_;
  std::vector<wire::roce::ProbeNonce> nonces_;  // of probes that left, in their order
  bool has_answered_ = false;                   // the hostile peer knew a number
};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (!paravane::install_memory_failure_handler()) std::abort();
  spdlog::set_level(spdlog::level::off);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paravane::fake::RoceFlowFuzz fuzz{paravane::fake::FuzzBytes(data, size)};
  fuzz.run();
  return 0;
}
