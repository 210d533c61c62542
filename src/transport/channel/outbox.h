// Outbox holds the record that is being sent on a channel. The record consists of a block, the
// payload that follows it and a trailer, and Outbox tracks how much of each was sent.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "transport/channel/direct.h"
#include "wire/block_writer.h"
#include "wire/record.h"

namespace paravane::transport_channel {

struct Outbox {
  std::unique_ptr<wire::BlockWriter> block = std::make_unique<wire::BlockWriter>();
  std::span<const std::byte> block_left;  // of block
  std::optional<Direct> direct;
  std::uint64_t direct_done = 0;
  // For payload without a seal: the digest of all of it, as it was when its sending began.
  std::optional<std::uint32_t> digest;
  // For sealed payload: a copy, which is sent exactly as it was sealed.
  std::vector<std::byte> staged;
  std::span<const std::byte> staged_left;  // of it
  bool is_void = false;                    // the payload is gone; zeros go instead
  wire::RecordTrailer trailer;
  bool trailer_made = false;  // of the record; may be made again until some of it is sent
  std::size_t trailer_done = 0;
  bool in_progress = false;

  std::uint64_t direct_left() const { return direct ? direct->bytes - direct_done : 0; }
  bool trailer_left() const { return direct && trailer_done < sizeof trailer; }
};

}  // namespace paravane::transport_channel
