#include "subnet/notices_image.h"

#include <span>

#include "base/wire_int.h"

namespace paravane::subnet {
namespace {

constexpr state::Tag kNextTransaction{1};
constexpr state::Tag kWaitingNotices{2};  // a list of SavedNotice

struct SavedNotice {
  Le32 transaction;
  wire::infiniband::Notice notice;  // as it is on the wire
};

bool is_of_ours(const wire::infiniband::Notice& notice) {
  namespace trap = wire::infiniband::trap;
  if ((notice.generic_type & wire::infiniband::kGenericNotice) == 0) return false;
  switch (notice.trap.get()) {
    case trap::kLinkStateChanged:
    case trap::kCapabilityChanged:
    case trap::kBadManagementKey:
    case trap::kBadPartition:
    case trap::kBadQkey:
    case trap::kBadPartitionAtSwitch: return true;
    default: return false;
  }
}

}  // namespace

void save(const NoticesImage& image, state::Writer& out) {
  out.number(kNextTransaction, image.next_transaction);
  std::vector<SavedNotice> list;
  list.reserve(image.waiting.size());
  for (const NoticesImage::Waiting& one : image.waiting)
    list.push_back({.transaction = Le32(one.transaction), .notice = one.notice});
  out.list(kWaitingNotices, list);
}

NoticesImage load_notices_image(state::Reader& in) {
  NoticesImage image;
  image.next_transaction = static_cast<std::uint32_t>(in.number(kNextTransaction, UINT32_MAX));
  in.expect(image.next_transaction != 0, "no transaction has the number 0");
  for (const SavedNotice& one : in.list<SavedNotice>(kWaitingNotices, NoticesImage::kMost)) {
    const bool was_told =
        one.transaction.get() != 0 && one.transaction.get() < image.next_transaction;
    if (!in.expect(was_told && is_of_ours(one.notice), "a notice that was not told")) return {};
    image.waiting.push_back({.transaction = one.transaction.get(), .notice = one.notice});
  }
  in.end();
  return in.good() ? image : NoticesImage{};
}

}  // namespace paravane::subnet
