// The acts of page_directory_fuzz, for it and its seeds.

#pragma once

#include <cstdint>

namespace paravane::fake {

enum class DirectoryAct : std::uint8_t {
  kRegion,           // pages, bends, start, length, chunks, use
  kCompletionQueue,  // pages, bends, entries, chunks
  kQueuePair,        // pages, bends, requests, SGEs
  kUnmap,            // first page, pages
  kMap,              // first page, pages
  kTime,             // microseconds
  kUse,              // lengths of a write and a read
  kCount,
};

}  // namespace paravane::fake
