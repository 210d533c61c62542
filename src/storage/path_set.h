// PathSet: the paths of a device, and which of them commands take.
//
// The policy is vSphere's Fixed: the preferred path, which is the first that was known, while it
// works; else the first one that works, in the order of their places.
//
// Owner thread only.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/unit_path.h"

namespace paravane::storage {

class PathSet {
 public:
  // One with that place is replaced.
  void add(UnitPath path);
  // It is dead, because of `why`. False: it was, or there is none.
  bool lose(const UnitPath::Place& place, const std::string& why);
  // False: there is none.
  bool remove(const UnitPath::Place& place);

  const std::vector<UnitPath>& all() const { return paths_; }
  // nullptr: there is none.
  const UnitPath* find(const UnitPath::Place& place) const;

  // The first that was known; nullopt: there is none.
  const std::optional<UnitPath::Place>& preferred() const { return preferred_; }

  // The path that commands take; nullptr: it works no more, or choose() has found none.
  const UnitPath* working() const;
  // The path that commands should take; nullptr: none works.
  const UnitPath* best() const;
  // Takes best(). Returns it.
  const UnitPath* choose();

 private:
  UnitPath* entry(const UnitPath::Place& place);

  std::vector<UnitPath> paths_;  // in the order of their places
  std::optional<UnitPath::Place> preferred_;
  std::optional<UnitPath::Place> working_;
};

}  // namespace paravane::storage
