// The same random work with and without the fast path (src/verbs/fast_path.h, fast_datagrams.h):
// what programs can see is alike after every step. Observers that do nothing keep one of the two
// worlds from it. In the presence of an observer, the memory of a request is looked up once more,
// which costs a part of the turn. So in some worlds outcome filters do it, and the turns are as
// short as one request.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "testing/engine_rig.h"
#include "verbs/observer.h"

namespace paravane::transport_local {
namespace {

using fake::EngineBuffer;
using fake::EngineQp;
using fake::EngineRig;
using fake::EngineVm;
using verbs::QpState;
using verbs::QpType;
using verbs::WcStatus;
using verbs::WrOpcode;

class SilentObserver final : public verbs::Observer {
 public:
  void on_request(verbs::QueuePair& /*qp*/, verbs::Direction /*direction*/,
                  const verbs::RemoteRequest& /*request*/,
                  const verbs::ReadBytes& /*bytes*/) override {}
  void on_answer(verbs::QueuePair& /*qp*/, verbs::Direction /*direction*/,
                 const verbs::RemoteRequest& /*request*/, const verbs::Outcome& /*outcome*/,
                 const verbs::ReadBytes& /*bytes*/) override {}
  void on_datagram(verbs::QueuePair& /*qp*/, verbs::Direction /*direction*/,
                   const verbs::DatagramSource& /*source*/, const verbs::SendRequest& /*request*/,
                   std::uint64_t /*length*/, const verbs::ReadBytes& /*bytes*/) override {}
  void on_frame(verbs::Direction /*direction*/, std::span<const std::byte> /*frame*/,
                std::size_t /*segment_bytes*/) override {}
};

class SameOutcome final : public verbs::OutcomeFilter {
 public:
  verbs::Outcome filter(verbs::QueuePair& /*qp*/, const verbs::Outcome& outcome) override {
    return outcome;
  }
};

enum class TwinPath : std::uint8_t { kFast, kObserved, kFiltered };

struct TwinShape {
  bool one_vm = false;           // both queue pairs of a connection are in one VM
  bool shares_receives = false;  // those of side 1
  bool datagrams = false;        // the queue pairs are for datagrams, and not connected
  bool has_short_turns = false;  // some, of only a few operations
};

// Two sides with two connections between them, and a program on either side that posts at random.
// Two worlds with the same seed and shape do the same as long as the engine does the same.
class TwinWorld {
 public:
  TwinWorld(const TwinShape& shape, std::uint32_t seed, TwinPath path);
  ~TwinWorld();
  TwinWorld(const TwinWorld&) = delete;
  TwinWorld& operator=(const TwinWorld&) = delete;

  // Posts something, and lets the engine or the time run.
  void step();
  // What the programs can see, as text; completions and events only since the last look.
  std::string look();
  // Completions so far, on both sides.
  unsigned successes() const { return successes_; }
  unsigned errors() const { return errors_; }

 private:
  struct Side {
    EngineVm* vm = nullptr;
    std::vector<EngineBuffer> places;
    std::array<std::unique_ptr<EngineQp>, 2> qps;
    std::uint32_t fast_key = 0;
    std::uint8_t ipv4_index = 0;  // of a GID for IPv4; index 0 and 1 are of vm->gid()
    bool is_hidden = false;       // its memory
  };

  std::uint64_t pick(std::uint64_t count) { return random_() % count; }
  bool rarely(std::uint64_t one_in) { return pick(one_in) == 0; }
  bool shares(unsigned side) const { return shape_.shares_receives && side == 1; }

  void make_side(Side& side, EngineVm& vm);
  void connect(unsigned pair);
  void start_datagrams(unsigned pair);
  void mend();
  void disturb();
  static void hide_memory(Side& side);
  void undisturb();
  void change_state(EngineQp& qp);
  void post_receives(unsigned side, unsigned pair);
  void post_sends(unsigned side, unsigned pair);
  const EngineBuffer& place(const Side& side);
  verbs::Sge sge(const Side& side, std::uint64_t length);
  void put_sges(const Side& side, verbs::SgeList& sges);
  void put_atomic_sges(const Side& side, verbs::SgeList& sges);
  void put_remote(const Side& side, verbs::SendRequest& request);
  void put_registration(const Side& side, verbs::SendRequest& request);
  verbs::SendRequest request(unsigned side);
  verbs::SendRequest datagram(unsigned side);
  void look_at_queue(std::string& text, std::string_view name, fake::RecordingCq& queue);
  static void look_at_counters(std::string& text, const CounterSet& set);

  TwinShape shape_;
  std::mt19937_64 random_;
  SilentObserver observer_;
  SameOutcome filter_;
  EngineRig rig_;
  fake::ScriptedWork shared_;
  std::array<Side, 2> sides_;
  std::uint64_t last_wr_id_ = 0;
  unsigned successes_ = 0;
  unsigned errors_ = 0;
  bool came_to_rest_ = true;
};

TwinWorld::TwinWorld(const TwinShape& shape, std::uint32_t seed, TwinPath path)
    : shape_(shape), random_(seed), rig_(shape.one_vm ? 1 : 2, 8 << 20) {
  make_side(sides_[0], rig_.a());
  make_side(sides_[1], shape.one_vm ? rig_.a() : rig_.b());
  if (shape.one_vm) sides_[1].places = sides_[0].places;  // copies may overlap
  for (unsigned side = 0; side < 2; ++side) {
    for (auto& qp : sides_[side].qps) {
      const QpType type = shape.datagrams ? QpType::kUnreliableDatagram : QpType{};
      qp = shares(side) ? sides_[side].vm->sharing_queue_pair(shared_, type)
                        : sides_[side].vm->queue_pair(type);
      if (path == TwinPath::kFiltered) qp->qp->set_outcome_filter(&filter_);
    }
    if (path == TwinPath::kObserved) sides_[side].vm->adapter().set_observer(&observer_);
  }
  for (unsigned pair = 0; pair < 2; ++pair) connect(pair);
}

TwinWorld::~TwinWorld() {
  for (Side& side : sides_) side.vm->adapter().set_observer(nullptr);
}

verbs::Gid ipv4_gid(std::uint8_t last) {
  return verbs::Gid{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, last}};
}

void TwinWorld::make_side(Side& side, EngineVm& vm) {
  side.vm = &vm;
  side.ipv4_index = &side == sides_.data() ? 2 : 3;
  ASSERT_TRUE(
      vm.adapter().bind_gid(side.ipv4_index, ipv4_gid(side.ipv4_index), verbs::GidType::kRoceV2));
  side.places = {vm.buffer(16384, fake::kEveryRight, 0, true),
                 vm.buffer(8192, fake::kEveryRight, 48, true),
                 vm.buffer(12288, fake::kEveryRight, 0x30),
                 vm.buffer(4096, verbs::kAccessRemoteRead, 0, true),
                 vm.buffer(4096, verbs::kAccessLocalWrite, 0, true),
                 vm.repeated_buffer(512 << 10, 8192)};
  for (std::size_t i = 0; i < side.places.size(); ++i) {
    const EngineBuffer& buffer = side.places[i];
    const std::uint64_t length = std::min<std::uint64_t>(buffer.length, 8192);
    vm.write(buffer, 0, EngineVm::pattern(length, static_cast<std::uint8_t>(i + 1)));
  }
  side.fast_key = vm.adapter().regions().add_fast(vm.pd(), 2).value();
}

void TwinWorld::start_datagrams(unsigned pair) {
  for (unsigned side = 0; side < 2; ++side) {
    verbs::QpAttributes attributes = fake::default_attributes();
    if (rarely(6)) attributes.qkey ^= 1;
    const QpState to = rarely(8) ? QpState::kInit : QpState::kReadyToSend;
    ASSERT_TRUE(fake::bring_up(*sides_[side].qps[pair]->qp, to, attributes));
  }
}

void TwinWorld::connect(unsigned pair) {
  if (shape_.datagrams) return start_datagrams(pair);
  for (unsigned side = 0; side < 2; ++side) {
    EngineQp& qp = *sides_[side].qps[pair];
    const Side& other = sides_[1 - side];
    verbs::QpAttributes attributes = fake::default_attributes();
    attributes.timeout = 8;  // 1 ms
    attributes.retry_count = 1;
    attributes.min_rnr_timer = 1;
    attributes.rnr_retry = rarely(4) ? static_cast<std::uint8_t>(pick(2)) : 7;
    if (rarely(5)) attributes.access = static_cast<verbs::AccessMask>(pick(16));
    if (rarely(10)) attributes.max_reads = 0;
    if (rarely(10)) attributes.max_dest_reads = 0;
    QpState to = QpState::kReadyToSend;
    if (side == 1 && rarely(6)) to = rarely(3) ? QpState::kInit : QpState::kReadyToReceive;
    EngineRig::bring_up_to(qp, to, other.vm->gid(), other.qps[pair]->qp->number(), attributes);
  }
}

// A connection with a queue pair in ERR is made anew.
void TwinWorld::mend() {
  for (unsigned pair = 0; pair < 2; ++pair) {
    const std::array qps{sides_[0].qps[pair].get(), sides_[1].qps[pair].get()};
    if (std::ranges::none_of(qps, [](EngineQp* qp) { return qp->state() == QpState::kError; })) {
      continue;
    }
    for (EngineQp* qp : qps) ASSERT_TRUE(fake::move(*qp->qp, QpState::kReset, {}));
    connect(pair);
  }
}

// Until the next step.
void TwinWorld::disturb() {
  Side& side = sides_[pick(2)];
  EngineQp& qp = *side.qps[pick(2)];
  switch (pick(shape_.datagrams ? 9 : 7)) {
    case 0: qp.receives.set_capacity(pick(2)); break;
    case 1: qp.sends.set_capacity(pick(2)); break;
    case 2: qp.work.set_receive_answer(verbs::WorkSource::Fetch::kAbsent); break;
    case 3: shared_.set_receive_answer(verbs::WorkSource::Fetch::kAbsent); break;
    case 4: hide_memory(side); break;
    case 7:
    case 8: ASSERT_TRUE(side.vm->adapter().unbind_gid(side.ipv4_index)); break;
    default: change_state(qp); break;
  }
}

void TwinWorld::hide_memory(Side& side) {
  side.vm->memory().unmap(side.vm->ram().base(), side.vm->ram().size());
  side.is_hidden = true;
}

void TwinWorld::undisturb() {
  shared_.set_receive_answer(std::nullopt);
  for (Side& side : sides_) {
    if (std::exchange(side.is_hidden, false)) side.vm->ram().show(side.vm->memory());
    ASSERT_TRUE(side.vm->adapter().bind_gid(side.ipv4_index, ipv4_gid(side.ipv4_index),
                                            verbs::GidType::kRoceV2));
    for (auto& qp : side.qps) {
      qp->receives.set_capacity(1000);
      qp->sends.set_capacity(1000);
      qp->work.set_receive_answer(std::nullopt);
      if (qp->state() == QpState::kSendQueueDrain || qp->state() == QpState::kSendQueueError) {
        ASSERT_TRUE(fake::move(*qp->qp, QpState::kReadyToSend, {}));
      }
    }
  }
}

void TwinWorld::change_state(EngineQp& qp) {
  if (qp.state() != QpState::kReadyToSend) return;
  const QpState to = rarely(3) ? QpState::kError : QpState::kSendQueueDrain;
  ASSERT_TRUE(fake::move(*qp.qp, to, {}));
}

const EngineBuffer& TwinWorld::place(const Side& side) {
  return side.places.at(rarely(80) ? 3 + pick(2) : pick(3));
}

verbs::Sge TwinWorld::sge(const Side& side, std::uint64_t length) {
  const EngineBuffer& buffer = place(side);
  const std::uint64_t bytes = std::min(length, buffer.length);
  const std::uint64_t room = buffer.length - bytes;
  verbs::Sge made = buffer.sge(rarely(80) ? room + 1 : pick(room + 1), bytes);
  if (rarely(80)) made.lkey ^= 0x0300u;
  return made;
}

void TwinWorld::put_sges(const Side& side, verbs::SgeList& sges) {
  constexpr std::array kLengths{1, 7, 8, 64, 65, 200, 1000, 4096, 5000, 8000};
  sges.count = rarely(8) ? static_cast<std::uint32_t>(pick(4)) : 1;
  for (std::uint32_t i = 0; i < sges.count; ++i) {
    const int length = rarely(25) ? 0 : kLengths.at(pick(kLengths.size()));
    sges.entries.at(i) = sge(side, static_cast<std::uint64_t>(length));
  }
  if (rarely(40)) {
    sges.count = 1;
    sges.entries[0] = side.places.back().whole();
  }
}

void TwinWorld::put_atomic_sges(const Side& side, verbs::SgeList& sges) {
  sges.count = 1;
  sges.entries[0] = sge(side, rarely(40) ? std::uint64_t{4} << pick(3) : 8);
  if (rarely(30)) {
    sges.count = 2;
    sges.entries[0] = sge(side, 4);
    sges.entries[1] = sge(side, 4);
  }
}

void TwinWorld::put_remote(const Side& side, verbs::SendRequest& request) {
  const std::uint64_t bytes = request.sges.total_bytes();
  const EngineBuffer& buffer = bytes > 16384 ? side.places.back() : place(side);
  const std::uint64_t room = buffer.length - std::min(bytes, buffer.length);
  request.remote_addr = buffer.start + (rarely(80) ? room + 1 : pick(room + 1));
  request.rkey = buffer.key;
  if (rarely(25)) {
    request.remote_addr = 0x20000 + pick(4096);
    request.rkey = side.fast_key;
  }
  if (rarely(80)) request.rkey ^= 0x0300u;
  if (verbs::is_atomic(request.opcode) && !rarely(20)) {
    request.remote_addr &= ~std::uint64_t{7};
  }
}

// Of the fast region if it has no memory, else the opposite.
void TwinWorld::put_registration(const Side& side, verbs::SendRequest& request) {
  const bool is_valid =
      side.vm->adapter().regions().may_invalidate(side.vm->pd(), side.fast_key) != rarely(10);
  request.opcode = is_valid ? WrOpcode::kLocalInvalidate : WrOpcode::kFastRegister;
  request.sges.count = 0;
  request.rkey = side.fast_key;
  request.registration = {
      .key = side.fast_key,
      .access = rarely(4) ? static_cast<verbs::AccessMask>(pick(16)) : fake::kEveryRight,
      .start = 0x20000,
      .length = static_cast<std::uint32_t>(4096 + pick(4097)),
      .pages = 2,
      .directory = side.places[1].pages.directory.value};
}

verbs::SendRequest TwinWorld::request(unsigned side) {
  const Side& own = sides_.at(side);
  const Side& other = sides_.at(1 - side);
  constexpr std::array kOpcodes{
      WrOpcode::kSend,        WrOpcode::kSend,        WrOpcode::kSendWithImm,
      WrOpcode::kRdmaWrite,   WrOpcode::kRdmaWrite,   WrOpcode::kRdmaWriteWithImm,
      WrOpcode::kRdmaRead,    WrOpcode::kRdmaRead,    WrOpcode::kCompareAndSwap,
      WrOpcode::kFetchAndAdd, WrOpcode::kFetchAndAdd, WrOpcode::kSendWithInvalidate,
      WrOpcode::kFastRegister};
  verbs::SendRequest made;
  made.wr_id = ++last_wr_id_;
  made.opcode = kOpcodes.at(pick(kOpcodes.size()));
  made.signaled = !rarely(4);
  made.solicited = rarely(4);
  made.fence = rarely(6);
  if (rarely(80)) made.fault = WcStatus::kLocalQpOperationError;
  made.imm = {std::byte{1}, std::byte{2}, static_cast<std::byte>(pick(256)), std::byte{4}};
  made.compare_add = pick(3);
  made.swap = random_();
  if (made.opcode == WrOpcode::kFastRegister) {
    put_registration(own, made);
    return made;
  }
  verbs::is_atomic(made.opcode) ? put_atomic_sges(own, made.sges) : put_sges(own, made.sges);
  put_remote(other, made);
  if (made.opcode == WrOpcode::kSendWithInvalidate) made.rkey = other.fast_key;
  return made;
}

// To a queue pair of either side, often another one than the last.
verbs::SendRequest TwinWorld::datagram(unsigned side) {
  const Side& own = sides_.at(side);
  const Side& other = rarely(10) ? own : sides_.at(1 - side);
  verbs::SendRequest made;
  made.wr_id = ++last_wr_id_;
  made.opcode = rarely(3) ? WrOpcode::kSendWithImm : WrOpcode::kSend;
  if (rarely(80)) made.opcode = WrOpcode::kRdmaWrite;
  made.signaled = !rarely(4);
  made.solicited = rarely(4);
  if (rarely(80)) made.fault = WcStatus::kLocalQpOperationError;
  made.imm = {std::byte{1}, std::byte{2}, static_cast<std::byte>(pick(256)), std::byte{4}};
  put_sges(own, made.sges);
  for (verbs::Sge& sge : std::span(made.sges.entries).first(made.sges.count)) {
    if (!rarely(40))
      sge.length = std::min<std::uint32_t>(sge.length, made.sges.count > 1 ? 9 : 4096);
  }
  made.remote_qpn = other.qps.at(pick(2))->qp->number() ^ (rarely(40) ? 0x400u : 0u);
  made.remote_qkey = fake::default_attributes().qkey ^ (rarely(25) ? 2u : 0u);
  if (rarely(8)) made.remote_qkey = 0x8000'0000 + static_cast<std::uint32_t>(pick(9));
  const bool over_ipv4 = rarely(3);
  made.av.sgid_index = over_ipv4 ? own.ipv4_index : static_cast<std::uint8_t>(pick(2));
  made.av.dgid = over_ipv4 ? ipv4_gid(other.ipv4_index) : other.vm->gid();
  if (rarely(50)) made.av.sgid_index = static_cast<std::uint8_t>(7 + pick(200));
  if (rarely(50)) made.av.dgid.raw[rarely(2) ? 0 : 15] ^= 0xC0;
  if (rarely(50)) made.av.dgid.raw[0] = 0xFF;
  made.av.flow_label = static_cast<std::uint32_t>(pick(1 << 20));
  made.av.hop_limit = static_cast<std::uint8_t>(pick(256));
  made.av.traffic_class = static_cast<std::uint8_t>(pick(256));
  made.av.service_level = static_cast<std::uint8_t>(pick(16));
  return made;
}

void TwinWorld::post_sends(unsigned side, unsigned pair) {
  for (std::uint64_t count = 1 + pick(4); count > 0; --count) {
    sides_.at(side).qps.at(pair)->post(shape_.datagrams ? datagram(side) : request(side));
  }
}

void TwinWorld::post_receives(unsigned side, unsigned pair) {
  for (std::uint64_t count = 1 + pick(3); count > 0; --count) {
    verbs::ReceiveRequest made;
    made.wr_id = ++last_wr_id_;
    put_sges(sides_.at(side), made.sges);
    if (!rarely(shape_.datagrams ? 30 : 8)) {
      made.sges.count = 1;
      const EngineBuffer& buffer = sides_.at(side).places[pick(3)];
      made.sges.entries[0] = buffer.sge(pick(64), 8128);
    }
    if (shape_.datagrams && rarely(6)) {  // of the very size, with the header
      constexpr std::array kLengths{64u, 200u, 1000u, 4096u};
      made.sges.entries[0].length = verbs::kGrhBytes + kLengths.at(pick(kLengths.size()));
    }
    if (rarely(80)) made.fault = WcStatus::kLocalQpOperationError;
    if (shares(side)) {
      shared_.post_receive(made);
      for (auto& qp : sides_.at(side).qps) qp->qp->kick();
    } else {
      sides_.at(side).qps.at(pair)->post(made);
    }
  }
}

void TwinWorld::step() {
  undisturb();
  mend();
  if (rarely(12)) disturb();
  for (std::uint64_t count = pick(4); count > 0; --count) {
    const auto side = static_cast<unsigned>(pick(2));
    post_receives(side, static_cast<unsigned>(pick(2)));
  }
  for (std::uint64_t count = 1 + pick(2); count > 0; --count) {
    const auto side = static_cast<unsigned>(pick(2));
    post_sends(side, static_cast<unsigned>(pick(2)));
  }
  switch (pick(4)) {
    case 0: rig_.advance(std::chrono::microseconds(pick(8000))); break;
    case 1:  // as far as the budget goes
      for (std::uint64_t turns = 1 + pick(2); turns > 0; --turns) {
        rig_.turn(
            {.bytes = static_cast<std::int64_t>(1 + pick(20000)),
             .operations = static_cast<std::int32_t>(shape_.has_short_turns ? 1 + pick(6) : 256)});
      }
      break;
    default: came_to_rest_ = rig_.run() && came_to_rest_; break;
  }
}

void TwinWorld::look_at_queue(std::string& text, std::string_view name, fake::RecordingCq& queue) {
  for (const verbs::Completion& completion : queue.all()) {
    ++(completion.status == WcStatus::kSuccess ? successes_ : errors_);
    text += fmt::format("  {} {}: qp {} opcode {} status {} length {}", name, completion.wr_id,
                        completion.qp_tag, std::to_underlying(completion.opcode),
                        verbs::to_string(completion.status), completion.byte_len);
    text += fmt::format(" header {} {}", completion.with_grh,
                        std::to_underlying(completion.network_header));
    text += fmt::format(" imm {} {} solicited {} from {:#x} level {} key {:#x}\n",
                        completion.with_imm, std::to_integer<int>(completion.imm[2]),
                        completion.solicited, completion.source_qpn, completion.service_level,
                        completion.invalidated_key.value_or(0));
  }
  queue.clear();
}

void TwinWorld::look_at_counters(std::string& text, const CounterSet& set) {
  for (const Counter* counter : set.all()) {
    text += fmt::format("  {} {}\n", counter->name(), counter->value());
  }
}

std::string TwinWorld::look() {
  std::string text = fmt::format("rest {} timers {}\n", came_to_rest_, rig_.timers().size());
  for (Side& side : sides_) {
    for (auto& qp : side.qps) {
      const verbs::QueuePairStats& stats = qp->qp->stats();
      text += fmt::format("qp {:#x}: {}, {} sends and {} receives left\n", qp->qp->number(),
                          verbs::to_string(qp->state()), qp->work.sends_left(),
                          qp->work.receives_left());
      text += fmt::format("  sends {} receives {} bytes {} {} errors {} waits {} retries {}\n",
                          stats.sends, stats.receives, stats.sent_bytes, stats.received_bytes,
                          stats.errors, stats.rnr_waits, stats.retries);
      look_at_queue(text, "send", qp->sends);
      look_at_queue(text, "receive", qp->receives);
    }
    look_at_counters(text, side.vm->counters().set);
    for (const auto& [tag, event] : side.vm->events().all()) {
      text += fmt::format("  event {} of qp {}\n", std::to_underlying(event), tag);
    }
    side.vm->events().clear();
    for (const EngineBuffer& buffer : side.places) {
      const std::uint64_t length = std::min<std::uint64_t>(buffer.length, 16384);
      const std::vector<std::byte> bytes = side.vm->read(buffer, 0, length);
      const std::string_view view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      text += fmt::format("  memory {:x}\n", std::hash<std::string_view>()(view));
    }
  }
  text += fmt::format("shared: {} left\n", shared_.receives_left());
  look_at_counters(text, rig_.local().counters().set);
  return text;
}

void expect_twins_alike(TwinShape shape, std::uint32_t seed) {
  shape.has_short_turns = seed % 2 == 0;
  TwinWorld fast(shape, seed, TwinPath::kFast);
  TwinWorld plain(shape, seed, shape.has_short_turns ? TwinPath::kFiltered : TwinPath::kObserved);
  for (unsigned step = 0; step < 300; ++step) {
    fast.step();
    plain.step();
    ASSERT_EQ(fast.look(), plain.look()) << "seed " << seed << ", step " << step;
  }
  EXPECT_GT(fast.successes(), 300u) << "seed " << seed;
  EXPECT_GT(fast.errors(), shape.datagrams ? 20u : 50u) << "seed " << seed;
}

TEST(FastPathTest, RandomWorkEndsAlikeOnBothPaths) {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) expect_twins_alike({}, seed);
}

TEST(FastPathTest, RandomWorkWithASharedReceiveQueueEndsAlike) {
  for (std::uint32_t seed = 101; seed <= 106; ++seed) {
    expect_twins_alike({.shares_receives = true}, seed);
  }
}

TEST(FastPathTest, RandomWorkWithinOneVmEndsAlike) {
  for (std::uint32_t seed = 201; seed <= 206; ++seed) {
    expect_twins_alike({.one_vm = true, .shares_receives = seed % 3 == 0}, seed);
  }
}

TEST(FastPathTest, RandomDatagramsEndAlikeOnBothPaths) {
  for (std::uint32_t seed = 301; seed <= 308; ++seed) {
    expect_twins_alike({.datagrams = true}, seed);
  }
}

TEST(FastPathTest, RandomDatagramsWithASharedReceiveQueueEndAlike) {
  for (std::uint32_t seed = 401; seed <= 404; ++seed) {
    expect_twins_alike({.shares_receives = true, .datagrams = true}, seed);
  }
}

TEST(FastPathTest, RandomDatagramsWithinOneVmEndAlike) {
  for (std::uint32_t seed = 501; seed <= 504; ++seed) {
    expect_twins_alike({.one_vm = true, .datagrams = true}, seed);
  }
}

}  // namespace
}  // namespace paravane::transport_local
