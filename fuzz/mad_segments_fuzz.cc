// Long MADs in segments: two honest ports send to each other over a subnet that loses, repeats and
// reorders, and a hostile peer sends segments, ACKs and ends of any kind to both. The input is a
// list of acts (mad_segments_script.h).
//
// What must hold besides the sanitizers: a packet is answered with no more than a burst; transfers
// and bytes stay within their bounds; time passes, or there is always something to do at once; what
// is joined from an honest port is what it sent; what is reported as sent was joined; and in the
// end every MAD was sent or not sent, and nothing is remembered.

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "fuzz_bytes.h"
#include "mad_segments_script.h"
#include "promise.h"
#include "subnet/segment_table.h"

namespace paravane::fake {
namespace {

using subnet::MadAddress;
using subnet::SegmentFailure;
using subnet::SegmentLimits;
using subnet::SegmentSender;
using subnet::SegmentTable;
using wire::infiniband::MadBytes;
using wire::infiniband::MadHeader;
using wire::infiniband::SegmentHeader;
using wire::infiniband::SegmentType;

constexpr int kMostActs = 2000;
constexpr std::size_t kMostUnderWay = 512;
constexpr std::uint16_t kHostileLid = 3;
constexpr std::size_t kMostData = 30'000;  // more than a MAD may have
constexpr SegmentLimits kLimits{.transfers = 12,
                                .transfers_of_peer = 8,
                                .bytes = 60'000,
                                .bytes_of_peer = 40'000,
                                .bytes_of_mad = 25'000};

// Of the other port: less than a long MAD, so that what arrives meets the bounds.
constexpr SegmentLimits kNarrow{.transfers = 6,
                                .transfers_of_peer = 4,
                                .bytes = 9'000,
                                .bytes_of_peer = 7'000,
                                .bytes_of_mad = 25'000};

MadAddress address_of(std::uint16_t lid) {
  return {.lid = lid, .qp = 1, .global = {}};
}

MadHeader header_of(std::uint8_t management_class, std::uint8_t method, std::uint64_t transaction) {
  MadHeader header;
  header.management_class = management_class;
  header.method = method;
  header.transaction.set(transaction);
  return header;
}

std::vector<std::byte> long_mad(const MadHeader& header, std::size_t data_bytes) {
  std::vector<std::byte> mad(wire::infiniband::data_offset(header.management_class) + data_bytes);
  for (std::size_t i = 0; i < mad.size(); ++i) {
    mad[i] = static_cast<std::byte>(i + i / 251 + header.transaction.get());
  }
  std::memcpy(mad.data(), &header, sizeof header);
  return mad;
}

// But for the header that segments have of their own.
bool are_same(std::span<const std::byte> one, std::span<const std::byte> other) {
  using wire::infiniband::kClassHeaderAt;
  using wire::infiniband::kSegmentHeaderAt;
  return std::ranges::equal(one.first(kSegmentHeaderAt), other.first(kSegmentHeaderAt)) &&
         std::ranges::equal(one.subspan(kClassHeaderAt), other.subspan(kClassHeaderAt));
}

class SegmentsFuzz {
 public:
  explicit SegmentsFuzz(FuzzBytes& input) : input_(input) {}

  void run() {
    for (int acts = 0; acts < kMostActs && !input_.at_end(); ++acts) act();
    finish();
  }

 private:
  struct Packet {
    std::uint16_t from = 0;
    std::uint16_t to = 0;
    MadBytes mad{};
  };

  struct Port : subnet::SegmentOwner {
    Port(SegmentsFuzz& fuzz, std::uint16_t its_lid, const SegmentLimits& its_limits)
        : lid(its_lid), limits(its_limits), all(fuzz), table(*this, its_limits) {}

    void on_transmit(const MadAddress& to, const MadBytes& mad) override {
      ++transmitted;
      require(wire::infiniband::is_segment(mad));
      if (to.lid == kHostileLid) {
        all.last_to_hostile_ = mad;
        all.last_from_ = lid;
      } else if (all.under_way_.size() < kMostUnderWay) {
        all.under_way_.push_back({.from = lid, .to = to.lid, .mad = mad});
      }
    }
    void on_joined(const MadAddress& from, std::vector<std::byte> mad) override {
      require(mad.size() <= kLimits.bytes_of_mad);
      if (from.lid == kHostileLid) return;
      MadHeader header;
      std::memcpy(&header, mad.data(), sizeof header);
      const auto sent = all.sent_.find(header.transaction.get());
      require(sent != all.sent_.end() && are_same(sent->second, mad));
      all.joined_.insert(sent->first);
    }
    void on_sent(std::uint64_t tag) override {
      if (!all.sent_.contains(tag)) return;  // to the hostile peer
      require(all.joined_.contains(tag) && all.running_.erase(tag) == 1);
    }
    void on_not_sent(std::uint64_t tag, const SegmentFailure& failure) override {
      require(failure.status != 0 || failure.fault == subnet::SegmentFault::kStopped ||
              failure.fault == subnet::SegmentFault::kAborted);
      if (all.sent_.contains(tag)) require(all.running_.erase(tag) == 1);
    }

    std::uint16_t lid;
    SegmentLimits limits;
    std::size_t transmitted = 0;
    SegmentsFuzz& all;
    SegmentTable table;
  };

  Port& port(std::size_t which) { return which % 2 == 0 ? a_ : b_; }

  void act() {
    switch (SegmentAct{
        static_cast<std::uint8_t>(input_.below(std::to_underlying(SegmentAct::kCount)))}) {
      case SegmentAct::kSend: return send();
      case SegmentAct::kDeliver: return deliver(input_.u8());
      case SegmentAct::kTurnBack:
        return with_one([this](const auto& at) { std::iter_swap(at, under_way_.begin()); });
      case SegmentAct::kLose: return with_one([this](const auto& at) { under_way_.erase(at); });
      case SegmentAct::kRepeat:
        return with_one([this](const auto& at) {
          const Packet copy = *at;
          if (under_way_.size() < kMostUnderWay) under_way_.push_back(copy);
        });
      case SegmentAct::kTime: return pass(std::chrono::milliseconds(input_.u16()));
      case SegmentAct::kForget: {
        const std::uint64_t tag = input_.u8();
        if (running_.erase(tag) == 0) return;
        a_.table.forget(tag);
        b_.table.forget(tag);
        return check();
      }
      case SegmentAct::kPacket: return packet();
      case SegmentAct::kSendHostile: {
        Port& from = port(input_.u8());
        const std::size_t bytes = input_.u16() % kMostData;
        const std::uint8_t method = input_.u8();
        const MadHeader header = header_of(3, method, input_.u8());
        static_cast<void>(from.table.send(address_of(kHostileLid), long_mad(header, bytes),
                                          kHostileTag, {.retries = 1, .expects_answer = true},
                                          now_));
        return check();
      }
      case SegmentAct::kAckHostile: return acknowledge();
      case SegmentAct::kCount: break;
    }
  }

  template <typename Act>
  void with_one(Act act) {
    const std::size_t which = input_.u8();
    if (under_way_.empty()) return;
    act(under_way_.begin() + static_cast<std::ptrdiff_t>(which % under_way_.size()));
  }

  void send() {
    static constexpr std::uint8_t kClasses[] = {0x03, 0x06, 0x30, 0x04};
    Port& from = port(input_.u8());
    const std::size_t bytes = input_.u16() % kMostData;
    const std::uint8_t how = input_.u8();
    const MadHeader header = header_of(kClasses[(how >> 1) % 4], 0x12, ++last_tag_);
    std::vector<std::byte> mad = long_mad(header, bytes);
    const auto& kept = sent_[last_tag_] = mad;
    running_.insert(last_tag_);
    const auto result =
        from.table.send(address_of(from.lid == 1 ? 2 : 1), std::move(mad), last_tag_,
                        {.retries = 2, .expects_answer = (how & 1) != 0}, now_);
    if (!result) running_.erase(last_tag_);
    require(result || header.management_class == 0x04 || kept.size() > kLimits.bytes_of_mad ||
            result.error() == subnet::SegmentRefusal::kNoRoom);
    check();
  }

  void deliver(std::size_t count) {
    for (; count > 0 && !under_way_.empty(); --count) {
      const Packet packet = under_way_.front();
      under_way_.pop_front();
      give(packet);
    }
  }

  void give(const Packet& packet) {
    Port& to = packet.to == a_.lid ? a_ : b_;
    to.transmitted = 0;
    const bool is_taken = to.table.on_packet(address_of(packet.from), packet.mad, now_);
    require(is_taken == wire::infiniband::is_segment(packet.mad));
    require(to.transmitted <= SegmentSender::kBurst);
    check();
  }

  void packet() {
    static constexpr std::uint8_t kClasses[] = {0x03, 0x03, 0x10, 0x4F, 0x04};
    static constexpr std::uint8_t kMethods[] = {0x12, 0x92, 0x14, 0x94};
    Packet packet{.from = kHostileLid, .to = port(input_.u8()).lid};
    MadHeader header = header_of(kClasses[input_.below(5)], kMethods[input_.below(4)], 0);
    header.transaction.set(input_.u8() % 4);
    put_part(std::span(packet.mad), 0, header);
    SegmentHeader segment;
    if (const std::uint8_t version = input_.u8(); version >= 240) segment.version = version;
    const std::uint8_t type = input_.u8();
    segment.type = SegmentType{type < 200 ? static_cast<std::uint8_t>(1 + type % 4) : type};
    segment.time_flags = input_.u8();
    if (const std::uint8_t status = input_.u8(); status >= 128) segment.status = status;
    segment.number.set(number());
    segment.length_window.set(number());
    put_part(std::span(packet.mad), wire::infiniband::kSegmentHeaderAt, segment);
    give(packet);
  }
  std::uint32_t number() {
    const std::uint8_t small = input_.u8();
    return small < 240 ? small : hostile_number(input_);
  }

  void acknowledge() {
    const std::uint8_t more = input_.u8();
    if (last_from_ == 0) return;
    const auto number = wire::infiniband::segment_header_of(last_to_hostile_).number.get();
    give({.from = kHostileLid,
          .to = last_from_,
          .mad = answer_to_segment(last_to_hostile_, SegmentType::kAck, 0, number, number + more)});
  }

  void pass(Duration time) {
    now_ += time;
    for (Port* one : {&a_, &b_}) {
      // Each transfer of a turn may have bursts to send before it waits again.
      constexpr int kMostTurns = 2 * 12 * static_cast<int>(kMostData / 192 / 64 + 2);
      for (int turns = 0; one->table.next_deadline() <= now_; ++turns) {
        require(turns < kMostTurns);
        one->table.on_time(now_);
      }
    }
    check();
  }

  void check() {
    for (const Port* one : {&a_, &b_}) {
      require(one->table.sending() <= one->limits.transfers);
      require(one->table.receiving() <= one->limits.transfers);
      require(one->table.bytes_sending() <= one->limits.bytes);
      require(one->table.bytes_receiving() <= one->limits.bytes);
    }
  }

  void finish() {
    const Instant end = now_ + std::chrono::minutes(5);
    for (;;) {
      deliver(under_way_.size());
      if (!under_way_.empty()) continue;
      const Instant next = std::min(a_.table.next_deadline(), b_.table.next_deadline());
      if (next == kNever) break;
      require(next <= end);
      pass(std::max<Duration>(next - now_, Duration::zero()));
    }
    require(running_.empty());
    require(a_.table.sending() + a_.table.receiving() == 0);
    require(b_.table.sending() + b_.table.receiving() == 0);
    require(a_.table.bytes_sending() + a_.table.bytes_receiving() == 0);
    require(b_.table.bytes_sending() + b_.table.bytes_receiving() == 0);
  }

  static constexpr std::uint64_t kHostileTag = 1 << 20;

  FuzzBytes& input_;
  Instant now_{};
  std::deque<Packet> under_way_;
  MadBytes last_to_hostile_{};
  std::uint16_t last_from_ = 0;
  std::uint64_t last_tag_ = 0;
  // Of the honest ports, by tag, which is also the transaction:
  std::map<std::uint64_t, std::vector<std::byte>> sent_;
  std::set<std::uint64_t> running_;
  std::set<std::uint64_t> joined_;
  Port a_{*this, 1, kLimits};
  Port b_{*this, 2, kNarrow};
};

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paravane::fake::FuzzBytes input(data, size);
  paravane::fake::SegmentsFuzz(input).run();
  return 0;
}
