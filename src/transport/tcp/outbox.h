// Outbox: the record that is being written: its block, the direct payload and the trailer after
// it, and the progress of each.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "transport/tcp/direct.h"
#include "wire/block_writer.h"
#include "wire/record.h"

namespace paravane::transport_tcp {

struct Outbox {
  std::unique_ptr<wire::BlockWriter> block = std::make_unique<wire::BlockWriter>();
  std::span<const std::byte> block_left;  // of block
  std::optional<Direct> direct;
  std::uint64_t direct_done = 0;
  // Where payload has no seal: of all of it, as it was when it began to be sent.
  std::optional<std::uint32_t> digest;
  // Where it has one it is sent from here, as it was sealed.
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

}  // namespace paravane::transport_tcp
