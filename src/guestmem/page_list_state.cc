#include <vector>

#include "base/wire_int.h"
#include "guestmem/memory_file.h"
#include "guestmem/page_list.h"

namespace paravane {
namespace {

using state::Tag;

constexpr Tag kPages{1};
constexpr Tag kStretches{2};  // none: the list is absent

using Stretch = PageListBuilder::Stretch;

bool wraps(const Stretch& stretch) {
  const std::uint64_t bytes = std::uint64_t{stretch.pages.get()} * kPageBytes;
  return bytes > 0 && bytes - 1 > UINT64_MAX - stretch.address.get();
}

}  // namespace

// Runs end with files and with ranges of the map, which say nothing of the next map: so they are
// put together by address alone.
void PageList::save(state::Writer& out) const {
  out.number(kPages, pages_);
  state::Writer::List<Stretch> stretches(out, kStretches);
  const bool was_ended = memory_ == nullptr || epoch_ != memory_->epoch_;
  if (was_ended || run_count_ == 0) return;
  std::uint64_t first = address_of(0);
  std::uint64_t end = first;
  const auto add = [&] {
    stretches.add({.address = Le64(first),
                   .pages = Le32(static_cast<std::uint32_t>((end - first) / kPageBytes))});
  };
  for (std::size_t run = 0; run < run_count_; ++run) {
    const std::uint64_t address = address_of(run);
    if (address != end || (address == 0 && run > 0)) {
      add();
      first = end = address;
    }
    end += size_of(run);
  }
  add();
}

PageList PageList::load(state::Reader& in, GuestMemory& memory, Rights need) {
  const auto pages = static_cast<std::uint32_t>(in.number(kPages, kMaxDirectoryPages));
  const auto saved = in.list_view<Stretch>(kStretches, pages);
  in.end();
  PageList absent;
  absent.pages_ = pages;
  absent.rights_ = need;
  absent.memory_ = &memory;  // of no epoch
  if (!in.expect(pages > 0, "no list of pages") || !in.good()) return {};
  if (saved.size() == 0) return absent;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const Stretch one = saved[i];
    sum += one.pages.get();
    const bool is_good = page_aligned(one.address.get()) && one.pages.get() > 0 && !wraps(one);
    if (!in.expect(is_good, "a page has no address")) return {};
  }
  if (!in.expect(sum == pages, "another number of pages")) return {};
  Result<PageList> list = PageListBuilder::of_stretches(memory, saved, need);
  return list ? std::move(*list) : std::move(absent);
}

}  // namespace paravane
