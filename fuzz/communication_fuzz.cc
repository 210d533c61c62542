// Peers and strangers at a connection manager: any message of the class, with right and wrong
// names, about connections in every state, and any bytes; a port that is full; and a caller that
// gives any order at any time.
//
// What must hold besides the sanitizers: an event tells of a connection that is there, and a reply
// comes once; a message is answered with at most one, to its sender; advance() sends so many and no
// more; each request and each disconnection has an end in time; and there are as many connections
// as there should be.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "communication_script.h"
#include "connection/communication_manager.h"
#include "fuzz_bytes.h"
#include "promise.h"
#include "wire/infiniband/communication.h"

namespace paravane::fake {
namespace {

namespace communication = wire::infiniband::communication;
using connection::CommunicationManager;
using connection::ConnectionId;
using wire::infiniband::Gid;
using wire::infiniband::MadBytes;
using wire::infiniband::MadHeader;

constexpr int kMostActs = 500;
constexpr std::uint32_t kOurQp = 0x1234;
constexpr std::uint32_t kTheirQp = 0x4321;
constexpr std::uint32_t kPeers = 4;
constexpr Duration kSlack = std::chrono::seconds(1);

class CommunicationFuzz : private connection::DatagramPort, private connection::ConnectionListener {
 public:
  explicit CommunicationFuzz(FuzzBytes& input) : input_(input) {}

  void run() {
    for (int acts = 0; acts < kMostActs && !input_.at_end(); ++acts) {
      act(static_cast<CommunicationAct>(
          input_.below(std::to_underlying(CommunicationAct::kCount))));
      require(manager_.size() == live_.size());
      require(manager_.size() <= CommunicationManager::kMostConnections);
      require(manager_.remembered() <= connection::EndedConnections::kMost);
    }
    room_ = 1'000'000;
    pass(CommunicationManager::kMostWait + kSlack);
  }

 private:
  enum class State : std::uint8_t { kRequested, kReplied, kReady, kDisconnecting };
  struct Live {
    State state = State::kRequested;
    Gid peer{};
    Instant since{};
  };

  static Gid gid(std::uint32_t number) { return Gid{1, static_cast<std::uint8_t>(number)}; }
  static std::uint32_t their_id(std::uint32_t ours) { return ~ours; }

  void act(CommunicationAct what) {
    switch (what) {
      case CommunicationAct::kConnect: return connect();
      case CommunicationAct::kOrder: return order();
      case CommunicationAct::kMessage: return message();
      case CommunicationAct::kBytes: {
        const Gid from = gid(input_.below(kPeers));
        MadBytes mad{};
        const std::uint8_t count = input_.u8();
        for (unsigned i = 0; i < count; ++i) mad[i] = std::byte{input_.u8()};
        return hear(from, mad);
      }
      case CommunicationAct::kTime: return pass(std::chrono::milliseconds(input_.u16()));
      case CommunicationAct::kRoom: room_ = input_.u8(); return;
      case CommunicationAct::kCount: return;
    }
  }

  void connect() {
    const Gid peer = gid(input_.below(kPeers));
    const auto id = manager_.connect({.remote_gid = peer, .local_qp = kOurQp}, now_);
    require(id.has_value() == (live_.size() < CommunicationManager::kMostConnections));
    if (!id) return;
    require(live_.emplace(*id, Live{.peer = peer, .since = now_}).second);
    ids_.push_back(*id);
  }

  // One that is there, or was.
  ConnectionId pick() {
    const std::uint8_t number = input_.u8();
    return ids_.empty() ? ConnectionId::kNone : ids_[ids_.size() - 1 - number % ids_.size()];
  }

  void order() {
    const auto what = static_cast<CommunicationOrder>(
        input_.below(std::to_underlying(CommunicationOrder::kCount)));
    const ConnectionId id = pick();
    const auto found = live_.find(id);
    const bool is_live = found != live_.end();
    const bool has_reply = is_live && found->second.state == State::kReplied;
    switch (what) {
      case CommunicationOrder::kReadyToUse:
        require(manager_.ready_to_use(id, now_) == has_reply);
        if (has_reply) found->second.state = State::kReady;
        return;
      case CommunicationOrder::kReject:
        require(manager_.reject(id, 28, {}, now_) == has_reply);
        if (has_reply) live_.erase(found);
        return;
      case CommunicationOrder::kDisconnect: {
        const bool is_possible = is_live && found->second.state != State::kDisconnecting;
        require(manager_.disconnect(id, now_) == is_possible);
        if (!is_possible) return;
        if (found->second.state == State::kRequested) {
          live_.erase(found);
        } else {
          found->second.state = State::kDisconnecting;
          found->second.since = now_;
        }
        return;
      }
      case CommunicationOrder::kForget:
        manager_.forget(id, now_);
        live_.erase(id);
        return;
      case CommunicationOrder::kCount: return;
    }
  }

  void message() {
    const std::uint8_t kind = input_.u8();
    const ConnectionId id = pick();
    const std::uint8_t lies = input_.u8();
    const std::uint32_t number = input_.u32();
    const auto found = live_.find(id);
    const Gid peer = found != live_.end() ? found->second.peer : gid(number % kPeers);
    const bool is_of_peer = (lies & communication_lie::kSender) == 0;
    const auto ours = static_cast<std::uint32_t>(id);
    // As all messages but REQ begin.
    wire::infiniband::ConnectionReply words;
    words.header.management_class = wire::infiniband::management_class::kCommunication;
    words.header.class_version = (lies & communication_lie::kVersion) != 0
                                     ? static_cast<std::uint8_t>(number)
                                     : wire::infiniband::kCommunicationVersion;
    words.header.method = wire::infiniband::method::kSend;
    words.header.attribute.set(static_cast<std::uint16_t>(communication::kRequest + kind % 10));
    words.local_id.set((lies & communication_lie::kTheirId) != 0 ? number : their_id(ours));
    words.remote_id.set((lies & communication_lie::kOurId) != 0 ? number : ours);
    MadBytes mad{};
    std::memcpy(mad.data(), &words, sizeof words);
    fill_in(words.header.attribute.get(), lies, number, mad);
    hear(is_of_peer ? peer : gid(number % kPeers), mad);
  }

  static void fill_in(std::uint16_t attribute, std::uint8_t lies, std::uint32_t number,
                      MadBytes& mad) {
    const bool is_wrong_qp = (lies & communication_lie::kQueuePair) != 0;
    const auto rejected =
        static_cast<std::byte>((lies & communication_lie::kRejected) != 0 ? number : 0);
    switch (attribute) {
      case communication::kReply:
        wire::infiniband::put_part(mad, 36, Be32(is_wrong_qp ? number : kTheirQp << 8));
        return;
      case communication::kDisconnectRequest:
        wire::infiniband::put_part(mad, 32, Be32(is_wrong_qp ? number : kOurQp << 8));
        return;
      case communication::kReject:
      case communication::kReceiptAcknowledge:
        mad[32] = rejected;
        mad[33] = static_cast<std::byte>(number >> 8);
        mad[35] = static_cast<std::byte>(number >> 16);
        return;
      default: return;
    }
  }

  void hear(const Gid& from, const MadBytes& mad) {
    sent_ = 0;
    last_to_ = from;
    manager_.receive(from, mad, now_);
    require(sent_ <= 1 && last_to_ == from);
  }

  void pass(Duration duration) {
    const Instant end = now_ + duration;
    // Each connection has a timer, that goes off at most every 20 ms.
    for (std::size_t turns = 0; manager_.next_deadline() <= end; ++turns) {
      require(turns < 300'000);
      now_ = std::max(now_, manager_.next_deadline());
      sent_ = 0;
      manager_.advance(now_);
      require(sent_ <= CommunicationManager::kMostSentByAdvance);
    }
    now_ = end;
    for (const auto& [id, live] : live_) {
      const bool must_end = live.state == State::kRequested || live.state == State::kDisconnecting;
      require(!must_end || now_ - live.since < CommunicationManager::kMostWait + kSlack);
    }
  }

  // ---- connection::DatagramPort ----
  bool send(const Gid& to, std::span<const std::byte, wire::infiniband::kMadBytes> mad) override {
    const auto header = wire::infiniband::part_of<MadHeader>(mad, 0);
    require(header.management_class == wire::infiniband::management_class::kCommunication);
    if (room_ == 0) return false;
    --room_;
    ++sent_;
    last_to_ = to;
    return true;
  }

  // ---- connection::ConnectionListener ----
  Live& live(ConnectionId id) {
    const auto found = live_.find(id);
    require(found != live_.end());
    return found->second;
  }
  void end(ConnectionId id) { require(live_.erase(id) == 1); }
  void on_reply(ConnectionId id, const connection::Reply& reply) override {
    require(live(id).state == State::kRequested);
    require(reply.remote_qp > 1 && reply.remote_qp < 0xFF'FFFF);
    live(id).state = State::kReplied;
  }
  void on_rejected(ConnectionId id, const connection::Rejection& rejection) override {
    require(live(id).state != State::kDisconnecting);
    require(rejection.info.size() <= wire::infiniband::kRejectInfoBytes);
    end(id);
  }
  void on_timed_out(ConnectionId id) override {
    require(live(id).state == State::kRequested);
    end(id);
  }
  void on_disconnected(ConnectionId id, connection::Ending ending) override {
    const bool is_ours = live(id).state == State::kDisconnecting;
    require(live(id).state != State::kRequested);
    require(is_ours == (ending != connection::Ending::kByPeer));
    end(id);
  }

  FuzzBytes& input_;
  Instant now_{std::chrono::hours(1)};
  std::size_t room_ = 1'000'000;
  std::size_t sent_ = 0;
  Gid last_to_{};
  std::map<ConnectionId, Live> live_;
  std::vector<ConnectionId> ids_;  // all that ever were
  CommunicationManager manager_{*this, *this, 0x5EED};
};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paravane::fake::FuzzBytes input(data, size);
  paravane::fake::CommunicationFuzz(input).run();
  return 0;
}
