#include "guestmem/atomic_word.h"

#include <cassert>
#include <cstdint>

#include "guestmem/extent_access.h"
#include "guestmem/memory_file.h"
#include "guestmem/raw_copy.h"

namespace paravane {

std::optional<std::uint64_t> change_word(const Extent& at, const WordChange& change) {
  assert(at.size() == sizeof(std::uint64_t));
  std::byte* word = ExtentAccess::host(at);
  assert(reinterpret_cast<std::uintptr_t>(word) % sizeof(std::uint64_t) == 0);
  std::uint64_t before = 0;
  switch (change.kind) {
    case WordChange::Kind::kFetchAndAdd:
      before = raw_copy::fetch_and_add(word, change.operand);
      break;
    case WordChange::Kind::kCompareAndSwap:
      before = raw_copy::compare_and_swap(word, change.operand, change.swap);
      break;
  }
  if (ExtentAccess::file(at)->failed()) return std::nullopt;
  return before;
}

}  // namespace paravane
