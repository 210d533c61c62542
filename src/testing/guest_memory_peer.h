// GuestMemoryPeer: shows tests where GuestMemory has mapped guest memory, so
// that a fake guest can live in the very same mapping. ThreadSanitizer follows
// virtual addresses: through a mapping of its own the fake guest's half of the
// synchronisation would be invisible to it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "guestmem/guest_memory.h"
#include "guestmem/memory_file.h"

namespace paravane {

class GuestMemoryPeer {
 public:
  struct View {
    std::shared_ptr<const MemoryFile> file;  // keeps it mapped; null: nothing there
    std::byte* host = nullptr;
    std::uint64_t size = 0;  // to the end of the range
  };

  // Whatever the rights of the range and whether or not DMA is on. Good until
  // the file grows.
  static View view(const GuestMemory& memory, GuestAddr addr) {
    const auto range = memory.find(addr.value);
    if (range == memory.ranges_.end() || range->second.file == nullptr) return {};
    const std::uint64_t offset = addr.value - range->first;
    const std::shared_ptr<MemoryFile>& file = range->second.file;
    return {file, file->at(range->second.file_offset + offset), range->second.size - offset};
  }
};

}  // namespace paravane
