#include <vector>

#include "base/wire_int.h"
#include "guestmem/memory_file.h"
#include "guestmem/page_list.h"

namespace paravane {
namespace {

using state::Tag;

constexpr Tag kPages{1};
constexpr Tag kStretches{2};  // none: the list is absent

// Pages whose addresses follow one another.
struct SavedStretch {
  Le64 address;
  Le32 pages;
};

bool wraps(const SavedStretch& stretch) {
  const std::uint64_t bytes = std::uint64_t{stretch.pages.get()} * kPageBytes;
  return bytes > 0 && bytes - 1 > UINT64_MAX - stretch.address.get();
}

}  // namespace

// Runs end with files and with ranges of the map, which say nothing of the next map: so they are
// put together by address alone.
void PageList::save(state::Writer& out) const {
  std::vector<SavedStretch> stretches;
  const bool was_ended = memory_ == nullptr || epoch_ != memory_->epoch_;
  for (std::size_t run = 0; run < run_count_ && !was_ended; ++run) {
    const std::uint64_t address = address_of(run);
    const auto pages = static_cast<std::uint32_t>(size_of(run) / kPageBytes);
    SavedStretch* last = stretches.empty() ? nullptr : &stretches.back();
    if (last != nullptr && address != 0 &&
        last->address.get() + std::uint64_t{last->pages.get()} * kPageBytes == address) {
      last->pages.set(last->pages.get() + pages);
    } else {
      stretches.push_back({.address = Le64(address), .pages = Le32(pages)});
    }
  }
  out.number(kPages, pages_);
  out.list(kStretches, stretches);
}

PageList PageList::load(state::Reader& in, GuestMemory& memory, Rights need) {
  const auto pages = static_cast<std::uint32_t>(in.number(kPages, kMaxDirectoryPages));
  const auto saved = in.list<SavedStretch>(kStretches, pages);
  in.end();
  PageList absent;
  absent.pages_ = pages;
  absent.rights_ = need;
  absent.memory_ = &memory;  // of no epoch
  if (!in.expect(pages > 0, "no list of pages") || !in.good()) return {};
  if (saved.empty()) return absent;
  std::vector<PageListBuilder::Stretch> stretches;
  std::uint64_t sum = 0;
  for (const SavedStretch& one : saved) {
    sum += one.pages.get();
    const bool is_good = page_aligned(one.address.get()) && one.pages.get() > 0 && !wraps(one);
    if (!in.expect(is_good, "a page has no address")) return {};
    stretches.push_back({.address = one.address.get(), .pages = one.pages.get()});
  }
  if (!in.expect(sum == pages, "another number of pages")) return {};
  Result<PageList> list = PageListBuilder::of_stretches(memory, stretches, need);
  return list ? std::move(*list) : std::move(absent);
}

}  // namespace paravane
