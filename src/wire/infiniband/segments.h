// Defines the segments in which a management datagram longer than 256 bytes is sent (RMPP, IBTA
// volume 1, 13.6): their header, and how a long MAD and its segments are laid out.
//
// A long MAD is as an agent sees it: its headers once (common, RMPP, class), then all of its data.
// Each segment is a MAD of 256 bytes with all of these headers and its share of the data. A payload
// length counts the data, and the class's header in each segment. The RMPP header of a long
// MAD is that of its first segment. This is what Linux gives its programs and takes from them
// (drivers/infiniband/core/user_mad.c).
//
// Numbers are in the byte order of the wire, lengths in bytes. Plain values and pure functions; any
// thread. Nothing that is read has to be true.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/wire_int.h"
#include "wire/infiniband/mad.h"

namespace paravane::wire::infiniband {

inline constexpr std::uint8_t kSegmentVersion = 1;

// Of SegmentHeader::type; other values are on the wire only if a sender is broken or hostile.
enum class SegmentType : std::uint8_t { kData = 1, kAck = 2, kStop = 3, kAbort = 4 };

// The lower three bits of SegmentHeader::time_flags.
inline constexpr std::uint8_t kSegmentActive = 0x01;  // without it the MAD is no segment
inline constexpr std::uint8_t kSegmentFirst = 0x02;
inline constexpr std::uint8_t kSegmentLast = 0x04;
inline constexpr std::uint8_t kSegmentFlags = 0x07;

// Why a transfer ends (13.6.2.1; Linux's ib_mad.h has the same numbers). The first is for STOP, the
// others are for ABORT; from 192 on they are the class's or vendor's.
namespace segment_status {
inline constexpr std::uint8_t kNormal = 0;
inline constexpr std::uint8_t kNoResources = 1;
inline constexpr std::uint8_t kTooLong = 118;    // the time of the whole transfer
inline constexpr std::uint8_t kBadLength = 119;  // inconsistent last flag and payload length
inline constexpr std::uint8_t kBadFirst = 120;   // inconsistent first flag and segment number
inline constexpr std::uint8_t kBadType = 121;
inline constexpr std::uint8_t kBadWindow = 122;  // ends before the segment that is acknowledged
inline constexpr std::uint8_t kBadNumber = 123;  // a segment number too big
inline constexpr std::uint8_t kBadStatus = 124;
inline constexpr std::uint8_t kBadVersion = 125;
inline constexpr std::uint8_t kTooManyTries = 126;
inline constexpr std::uint8_t kUnspecified = 127;
}  // namespace segment_status

struct SegmentHeader {
  std::uint8_t version = kSegmentVersion;
  SegmentType type = SegmentType::kData;
  std::uint8_t time_flags = 0;  // response time 5 bits, flags 3
  std::uint8_t status = segment_status::kNormal;
  Be32 number;  // of data: from 1; of an ACK: the last one of which none before is missing; else 0
  // Of data: the payload length, of the first segment that of all (or 0), of the last its own, else
  // 0. Of an ACK: the number of the last segment that may be sent.
  Be32 length_window;

  constexpr bool has(std::uint8_t flag) const { return (time_flags & flag) != 0; }
  constexpr void set_flags(std::uint8_t flags) {
    time_flags = static_cast<std::uint8_t>((time_flags & ~kSegmentFlags) | flags);
  }
};
static_assert(sizeof(SegmentHeader) == 12);

inline constexpr std::size_t kSegmentHeaderAt = sizeof(MadHeader);
inline constexpr std::size_t kClassHeaderAt = kSegmentHeaderAt + sizeof(SegmentHeader);

// Whether MADs of a class have a segment header. Of the other classes none is ever a segment.
constexpr bool uses_segments(std::uint8_t a_class) {
  return a_class == management_class::kSubnetAdministration ||
         a_class == management_class::kDeviceManagement || a_class == 0x10 ||  // DevAdm
         a_class == 0x12 ||                                                    // BIS
         is_vendor_with_oui(a_class);
}

// Where the data of a MAD begins, behind its class's header (Linux: ib_get_mad_data_offset()).
constexpr std::size_t data_offset(std::uint8_t a_class) {
  if (a_class == management_class::kSubnetAdministration) return 56;
  if (is_vendor_with_oui(a_class)) return 40;
  return uses_segments(a_class) ? 64 : kSegmentHeaderAt;
}

// How a class's MADs are cut. REQUIRES: uses_segments().
struct SegmentShape {
  explicit constexpr SegmentShape(std::uint8_t a_class)
      : headers(data_offset(a_class)),
        class_header(headers - kClassHeaderAt),
        data(kMadBytes - headers) {}

  // Of a long MAD of `mad_bytes` (at least `headers`): its number of segments, one at least.
  constexpr std::size_t segments(std::size_t mad_bytes) const {
    return std::max<std::size_t>((mad_bytes - headers + data - 1) / data, 1);
  }

  std::size_t headers;       // in each segment, from the common header on
  std::size_t class_header;  // of them, what a payload length counts
  std::size_t data;          // in each segment but the last, which has at most so much
};

inline MadHeader mad_header_of(std::span<const std::byte, kMadBytes> mad) {
  return part_of<MadHeader>(mad, 0);
}
inline SegmentHeader segment_header_of(std::span<const std::byte, kMadBytes> mad) {
  return part_of<SegmentHeader>(mad, kSegmentHeaderAt);
}

inline bool is_segment(std::span<const std::byte, kMadBytes> mad) {
  return uses_segments(mad_header_of(mad).management_class) &&
         segment_header_of(mad).has(kSegmentActive);
}

// What goes back for a segment: its headers, with the method of the other direction, and no data
// (Linux: format_ack(), nack_recv()). REQUIRES: is_segment(segment).
inline MadBytes answer_to_segment(std::span<const std::byte, kMadBytes> segment, SegmentType type,
                                  std::uint8_t status, std::uint32_t number = 0,
                                  std::uint32_t window = 0) {
  MadHeader header = mad_header_of(segment);
  MadBytes answer{};
  std::ranges::copy(segment.first(data_offset(header.management_class)), answer.begin());
  header.method ^= method::kResponse;
  put_part(std::span(answer), 0, header);
  SegmentHeader back = segment_header_of(segment);
  back.version = kSegmentVersion;
  back.type = type;
  back.set_flags(kSegmentActive);
  back.status = status;
  back.number.set(number);
  back.length_window.set(window);
  put_part(std::span(answer), kSegmentHeaderAt, back);
  return answer;
}

}  // namespace paravane::wire::infiniband
