// NoticesImage: the notices of a node that wait for the manager to repress them, as an engine left
// them to the one that replaces it. Their transactions go with them, so that what represses one is
// still understood.
//
// A plain value, which is judged when it is loaded: only notices that a node of ours tells.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "state/reader.h"
#include "state/writer.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::subnet {

struct NoticesImage {
  static constexpr std::size_t kMost = 16;

  struct Waiting {
    std::uint32_t transaction = 0;
    wire::infiniband::Notice notice{};
  };
  std::vector<Waiting> waiting{};      // oldest first
  std::uint32_t next_transaction = 1;  // above those of all that were told
};

void save(const NoticesImage& image, state::Writer& out);
// All that the reader has. Defaults if it is refused.
NoticesImage load_notices_image(state::Reader& in);

}  // namespace paravane::subnet
