#include "storage/path_set.h"

#include <algorithm>
#include <utility>

namespace paravane::storage {
namespace {

bool works(const UnitPath& path) {
  return path.tasks != nullptr && path.tasks->is_up();
}

}  // namespace

UnitPath* PathSet::entry(const UnitPath::Place& place) {
  const auto found = std::ranges::lower_bound(paths_, place, {}, &UnitPath::place);
  return found != paths_.end() && found->place == place ? &*found : nullptr;
}

const UnitPath* PathSet::find(const UnitPath::Place& place) const {
  return const_cast<PathSet*>(this)->entry(place);
}

void PathSet::add(UnitPath path) {
  if (!preferred_) preferred_ = path.place;
  if (UnitPath* there = entry(path.place)) {
    *there = std::move(path);
    return;
  }
  const auto at = std::ranges::upper_bound(paths_, path.place, {}, &UnitPath::place);
  paths_.insert(at, std::move(path));
}

bool PathSet::lose(const UnitPath::Place& place, const std::string& why) {
  UnitPath* path = entry(place);
  if (path == nullptr || path->tasks == nullptr) return false;
  path->tasks = nullptr;
  path->problem = why;
  return true;
}

bool PathSet::remove(const UnitPath::Place& place) {
  const auto gone = std::ranges::remove(paths_, place, &UnitPath::place);
  if (gone.empty()) return false;
  paths_.erase(gone.begin(), gone.end());
  if (preferred_ == place) {
    preferred_ = paths_.empty() ? std::nullopt : std::optional(paths_.front().place);
  }
  return true;
}

const UnitPath* PathSet::working() const {
  const UnitPath* path = working_ ? find(*working_) : nullptr;
  return path != nullptr && works(*path) ? path : nullptr;
}

const UnitPath* PathSet::best() const {
  const UnitPath* preferred = preferred_ ? find(*preferred_) : nullptr;
  if (preferred != nullptr && works(*preferred)) return preferred;
  if (const UnitPath* present = working()) return present;
  const auto found = std::ranges::find_if(paths_, works);
  return found != paths_.end() ? &*found : nullptr;
}

const UnitPath* PathSet::choose() {
  const UnitPath* path = best();
  working_ = path != nullptr ? std::optional(path->place) : std::nullopt;
  return path;
}

}  // namespace paravane::storage
