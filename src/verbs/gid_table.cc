#include "verbs/gid_table.h"

#include <algorithm>

namespace paravane::verbs {

GidTable::~GidTable() {
  for (std::optional<BoundGid>& entry : entries_) clear(entry);
}

Status GidTable::bind(std::uint32_t index, const Gid& gid, GidType type) {
  if (index >= entries_.size()) return fail(Errc::kOutOfRange, "gid: invalid index");
  const BoundGid wanted{.gid = gid, .type = type};
  if (entries_[index] == wanted) return {};
  if (!owns(gid, type)) {
    if (Status announced = fabric_.announce(gid, type); !announced) return announced;
  }
  clear(entries_[index]);
  entries_[index] = wanted;
  return {};
}

Status GidTable::unbind(std::uint32_t index) {
  if (index >= entries_.size()) return fail(Errc::kOutOfRange, "gid: invalid index");
  clear(entries_[index]);
  return {};
}

void GidTable::clear(std::optional<BoundGid>& entry) {
  if (!entry) return;
  const BoundGid gone = *entry;
  entry.reset();
  if (!owns(gone.gid, gone.type)) fabric_.withdraw(gone.gid, gone.type);
}

std::optional<BoundGid> GidTable::at(std::uint32_t index) const {
  return index < entries_.size() ? entries_[index] : std::nullopt;
}

bool GidTable::owns(const Gid& gid, GidType type) const {
  return std::ranges::find(entries_, BoundGid{.gid = gid, .type = type}) != entries_.end();
}

}  // namespace paravane::verbs
