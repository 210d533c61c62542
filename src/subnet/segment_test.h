// What tests of segments share: long MADs of subnet administration, packets of a peer, and two
// ports with a wire between them that loses, repeats and reorders by a seed, in a time of its own.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "subnet/segment_table.h"

namespace paravane::subnet {

inline constexpr std::size_t kSaHeaders = 56;
inline constexpr std::size_t kSaData = 200;
inline constexpr std::uint8_t kTableAnswer = 0x92;  // of GetTable

struct LongMad {
  std::uint64_t transaction = 1;
  std::uint8_t method = kTableAnswer;
  std::uint8_t management_class = wire::infiniband::management_class::kSubnetAdministration;
};

// Its headers beyond the common one and its data follow from their places.
inline std::vector<std::byte> long_mad(std::size_t data_bytes, const LongMad& as = {}) {
  std::vector<std::byte> mad(wire::infiniband::data_offset(as.management_class) + data_bytes);
  wire::infiniband::MadHeader header;
  header.management_class = as.management_class;
  header.class_version = 2;
  header.method = as.method;
  header.transaction.set(as.transaction);
  header.attribute.set(wire::infiniband::attribute::kNodeRecord);
  std::memcpy(mad.data(), &header, sizeof header);
  for (std::size_t i = wire::infiniband::kClassHeaderAt; i < mad.size(); ++i) {
    mad[i] = static_cast<std::byte>(i * 7 + i / 251 + as.transaction);
  }
  return mad;
}

// As it arrives: without the RMPP header, of which the first segment's is left.
inline std::vector<std::byte> without_segment_header(std::vector<std::byte> mad) {
  std::fill_n(mad.begin() + wire::infiniband::kSegmentHeaderAt,
              sizeof(wire::infiniband::SegmentHeader), std::byte{0});
  return mad;
}

inline wire::infiniband::MadBytes with_header(wire::infiniband::MadBytes mad,
                                              const wire::infiniband::SegmentHeader& header) {
  put_part(std::span(mad), wire::infiniband::kSegmentHeaderAt, header);
  return mad;
}

// A segment of a MAD of 256 bytes of headers and data: what a peer sends, right or wrong.
inline wire::infiniband::MadBytes data_segment(std::uint32_t number, std::uint8_t flags,
                                               std::uint32_t payload, const LongMad& as = {}) {
  const auto mad = long_mad(
      wire::infiniband::kMadBytes - wire::infiniband::data_offset(as.management_class), as);
  wire::infiniband::MadBytes bytes;
  std::ranges::copy(mad, bytes.begin());
  wire::infiniband::SegmentHeader header;
  header.set_flags(static_cast<std::uint8_t>(flags | wire::infiniband::kSegmentActive));
  header.number.set(number);
  header.length_window.set(payload);
  return with_header(bytes, header);
}

// What a receiver of such segments sends.
inline wire::infiniband::MadBytes ack_of(std::uint32_t number, std::uint32_t window,
                                         const LongMad& as = {}) {
  return answer_to_segment(data_segment(1, wire::infiniband::kSegmentFirst, 0, as),
                           wire::infiniband::SegmentType::kAck, 0, number, window);
}
inline wire::infiniband::MadBytes end_of(wire::infiniband::SegmentType type, std::uint8_t status,
                                         const LongMad& as = {}) {
  return answer_to_segment(data_segment(1, wire::infiniband::kSegmentFirst, 0, as), type, status);
}

// What a port's owner hears.
class HeardSegments : public SegmentOwner {
 public:
  using Packet = std::pair<MadAddress, wire::infiniband::MadBytes>;

  void on_transmit(const MadAddress& to, const wire::infiniband::MadBytes& mad) override {
    packets.emplace_back(to, mad);
  }
  void on_joined(const MadAddress& from, std::vector<std::byte> mad) override {
    joined.emplace_back(from, std::move(mad));
  }
  void on_sent(std::uint64_t tag) override { sent.push_back(tag); }
  void on_not_sent(std::uint64_t tag, const SegmentFailure& failure) override {
    failed.emplace_back(tag, failure);
  }

  std::vector<Packet> packets;  // not delivered yet
  std::vector<std::pair<MadAddress, std::vector<std::byte>>> joined;
  std::vector<std::uint64_t> sent;
  std::vector<std::pair<std::uint64_t, SegmentFailure>> failed;
};

struct SegmentPort {
  explicit SegmentPort(std::uint16_t lid, const SegmentLimits& limits = {})
      : address{.lid = lid, .qp = 1, .global = {}}, table(heard, limits) {}

  MadAddress address;
  HeardSegments heard;
  SegmentTable table;
};

// Two ports. Shares are of all packets, in both directions.
class SegmentWire {
 public:
  struct Weather {
    double lost = 0;
    double repeated = 0;
    Duration most_delay{};  // each packet's is between none and this
  };
  explicit SegmentWire(std::uint64_t seed = 1) : SegmentWire(seed, {}) {}
  SegmentWire(std::uint64_t seed, const Weather& weather, const SegmentLimits& limits = {})
      : weather_(weather), random_(seed), a(1, limits), b(2, limits) {}

  Instant now() const { return now_; }

  // Until nothing is under way and no transfer runs or is remembered; false: it is at `end` that
  // this is not so.
  bool run(Duration end = std::chrono::minutes(10)) {
    const Instant stop = now_ + end;
    for (;;) {
      put_on_wire(a);
      put_on_wire(b);
      const Instant next = std::min({on_wire_.empty() ? kNever : on_wire_.begin()->first,
                                     a.table.next_deadline(), b.table.next_deadline()});
      if (next == kNever) return true;
      if (next > stop) return false;
      now_ = std::max(now_, next);
      while (!on_wire_.empty() && on_wire_.begin()->first <= now_) {
        const auto packet = on_wire_.extract(on_wire_.begin()).mapped();
        SegmentPort& to = packet.first == a.address.lid ? a : b;
        to.table.on_packet(&to == &a ? b.address : a.address, packet.second, now_);
      }
      a.table.on_time(now_);
      b.table.on_time(now_);
    }
  }

 private:
  bool happens(double share) { return std::uniform_real_distribution<>()(random_) < share; }
  void put_on_wire(SegmentPort& from) {
    for (const auto& [to, mad] : std::exchange(from.heard.packets, {})) {
      const int copies = happens(weather_.lost) ? 0 : happens(weather_.repeated) ? 2 : 1;
      for (int i = 0; i < copies; ++i) {
        const auto delay =
            std::uniform_int_distribution<Duration::rep>(0, weather_.most_delay.count())(random_);
        on_wire_.emplace(now_ + Duration(delay), std::pair(to.lid, mad));
      }
    }
  }

  Weather weather_;
  std::mt19937_64 random_;
  Instant now_{};
  std::multimap<Instant, std::pair<std::uint16_t, wire::infiniband::MadBytes>> on_wire_;

 public:
  SegmentPort a;
  SegmentPort b;
};

}  // namespace paravane::subnet
