// A hostile host that has an RDMA adapter: it arranges a trunk with whatever offers and answers it
// likes, or is at the other end of a trunk's queue pair and sends any messages. The input is a list
// of acts (trunk_script.h).
//
// What must hold besides the sanitizers: the host makes us make one queue pair at a time and ten a
// second; what is handed over is connected; a stream reads the bytes that were sent, in their
// order, or breaks; and never sends what the peer has no buffer for.

#include <sys/uio.h>

#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "promise.h"
#include "testing/fake_clock.h"
#include "testing/fake_trunk.h"
#include "testing/fake_trunk_device.h"
#include "testing/fake_trunk_end.h"
#include "transport/hca/host_trunk.h"
#include "transport/hca/trunk_stream.h"
#include "trunk_script.h"

namespace paravane::fake {
namespace {

using transport_hca::HostTrunk;
using transport_hca::MadeTrunk;
using transport_hca::NoTrunk;
using transport_hca::TrunkStream;

constexpr int kMostActs = 2000;

class ArrangeFuzz {
 public:
  ArrangeFuzz(FuzzBytes& input, bool leads) : input_(input), trunk_({.leads = leads}, acts()) {}

  void run() {
    for (int acts = 0; acts < kMostActs && !input_.at_end(); ++acts) {
      act();
      // One for each tenth of a second, and one for each new adapter.
      const auto tenths = (clock_.now() - begun_) / std::chrono::milliseconds(100);
      require(device_->made() <= static_cast<unsigned>(tenths) + 1 + devices_);
      if (trunk_.next_turn() <= clock_.now()) trunk_.turn(clock_.now());
      require(trunk_.next_turn() > clock_.now());  // or a thread would turn without end
    }
  }

 private:
  HostTrunk::Acts acts() {
    return {.send_offer = [this](const wire::TrunkOffer& frame) { last_ = frame; },
            .send_ready = [](const wire::TrunkReady&) {},
            .hand_over =
                [this](MadeTrunk trunk) {
                  require(trunk.port != nullptr);
                  require(trunk.number > made_number_ || devices_ > 0);
                  made_number_ = trunk.number;
                  made_ = std::move(trunk);
                },
            .tell_none = [](const NoTrunk& none) { require(!none.why.empty()); }};
  }

  void act() {
    const Instant now = clock_.now();
    switch (ArrangeAct{
        static_cast<std::uint8_t>(input_.below(std::to_underlying(ArrangeAct::kCount)))}) {
      case ArrangeAct::kOffer: {
        wire::TrunkOffer offer{};
        offer.state.set(input_.u8());
        offer.number.set(input_.u8());
        offer.seals_frames_alone.set(offer.number.get() % 16 == 15 ? 1 : 0);
        offer.is_infiniband.set(input_.u8());
        offer.path_mtu_bytes.set(input_.u16());
        offer.qpn.set(hostile_number(input_));
        offer.psn.set(hostile_number(input_));
        return trunk_.on_offer(offer, now);
      }
      case ArrangeAct::kGood: {
        wire::TrunkOffer offer{};
        offer.number.set(last_.number.get() == 0 ? input_.u8() : last_.number.get());
        offer.path_mtu_bytes.set(1024);
        return trunk_.on_offer(offer, now);
      }
      case ArrangeAct::kReady: return trunk_.on_ready({.number = Le64(input_.u8())}, now);
      case ArrangeAct::kTime: return clock_.advance(std::chrono::milliseconds(input_.u16()));
      case ArrangeAct::kDevice:
        ++devices_;
        return trunk_.set_device((input_.u8() & 1) != 0 ? device_ : nullptr, {.why = "none"}, now);
      case ArrangeAct::kRefuse: {
        const std::uint8_t what = input_.u8();
        device_->refuse_ports((what & 1) != 0 ? "no port" : "");
        device_->refuse_connections((what & 2) != 0 ? "no connection" : "");
        return;
      }
      case ArrangeAct::kLost: return trunk_.on_lost(input_.u8(), "lost", now);
      case ArrangeAct::kCount: break;
    }
  }

  FuzzBytes& input_;
  FakeClock clock_;
  const Instant begun_ = clock_.now();
  std::shared_ptr<FakeTrunkDevice> device_ =
      std::make_shared<FakeTrunkDevice>(std::make_shared<FakeTrunkNet>());
  unsigned devices_ = 0;
  wire::TrunkOffer last_{};
  std::uint64_t made_number_ = 0;
  MadeTrunk made_;
  HostTrunk trunk_;
};

class StreamFuzz {
 public:
  explicit StreamFuzz(FuzzBytes& input)
      : input_(input),
        ends_(FakeTrunk::make_pair()),
        stream_(ends_[0]->port()),
        peer_(ends_[1]->port()) {
    for (std::uint32_t buffer = 0; buffer < transport_hca::kTrunkBuffers; ++buffer) {
      free_.push_back(buffer);
    }
  }

  void run() {
    for (int acts = 0; acts < kMostActs && !input_.at_end(); ++acts) act();
  }

 private:
  void act() {
    switch (
        StreamAct{static_cast<std::uint8_t>(input_.below(std::to_underlying(StreamAct::kCount)))}) {
      case StreamAct::kSend: {
        const std::uint32_t bytes = input_.u16();
        const std::uint32_t immediate = hostile_number(input_);
        lied_ = lied_ || immediate != posted_;
        return send(bytes, immediate);
      }
      case StreamAct::kSendOn: return send(input_.u16(), posted_);
      case StreamAct::kRead: return read(input_.u16());
      case StreamAct::kWrite: return write(input_.u16());
      case StreamAct::kPost: return take();
      case StreamAct::kFail:
        if (input_.u8() == 0) ends_[0]->fail();
        return;
      case StreamAct::kCount: break;
    }
  }

  void send(std::uint32_t bytes, std::uint32_t immediate) {
    if (free_.empty()) return;
    const std::uint32_t buffer = free_.front();
    free_.pop_front();
    for (std::byte& byte : peer_->send_buffer(buffer).first(bytes)) byte = next(sent_);
    static_cast<void>(peer_->post_send(buffer, bytes, immediate));
  }
  static std::byte next(std::uint32_t& count) { return static_cast<std::byte>(count++ * 37 >> 3); }

  void read(std::size_t bytes) {
    std::vector<std::byte> to(bytes + 1);
    const std::array pieces{
        iovec{.iov_base = to.data(), .iov_len = bytes / 3},
        iovec{.iov_base = to.data() + bytes / 3, .iov_len = bytes - bytes / 3 + 1}};
    const IoResult result = stream_.read(pieces);
    require(result.bytes <= to.size());
    require(result.kind == IoResult::Kind::kMoved || result.bytes == 0);
    for (std::size_t i = 0; i < result.bytes; ++i) require(to[i] == next(read_));
    if (result.kind == IoResult::Kind::kBroken) require(!stream_.problem().empty());
  }

  void write(std::size_t bytes) {
    std::vector<std::byte> from(bytes + 1);
    const iovec piece{.iov_base = from.data(), .iov_len = from.size()};
    require(stream_.write({&piece, 1}).bytes <= from.size());
    // Unless the peer lies about its buffers, nothing waits for one.
    if (!lied_) require(ends_[0]->waited() == 0);
  }

  void take() {
    while (const auto completion = peer_->next()) {
      if (completion->kind == TrunkCompletion::Kind::kSent) free_.push_back(completion->buffer);
      if (completion->kind != TrunkCompletion::Kind::kReceived) continue;
      if (peer_->post_receive(completion->buffer)) ++posted_;
    }
  }

  FuzzBytes& input_;
  std::array<std::unique_ptr<FakeTrunk>, 2> ends_;
  TrunkStream stream_;
  std::unique_ptr<transport_hca::TrunkPort> peer_;
  std::deque<std::uint32_t> free_;  // of the peer's, to send from
  std::uint32_t posted_ = transport_hca::kTrunkBuffers;
  std::uint32_t sent_ = 0;  // bytes
  std::uint32_t read_ = 0;
  bool lied_ = false;
};

void run(FuzzBytes input) {
  switch (
      TrunkPart{static_cast<std::uint8_t>(input.below(std::to_underlying(TrunkPart::kCount)))}) {
    case TrunkPart::kLeads: return ArrangeFuzz(input, true).run();
    case TrunkPart::kFollows: return ArrangeFuzz(input, false).run();
    case TrunkPart::kStream: return StreamFuzz(input).run();
    case TrunkPart::kCount: break;
  }
}

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paravane::fake::run(paravane::fake::FuzzBytes(data, size));
  return 0;
}
