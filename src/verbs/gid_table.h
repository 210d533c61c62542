// GidTable holds the GIDs of one adapter, by index. The same GID can be bound to several indices.
// The table announces the GID to the fabric when the first of these indices is bound, and withdraws
// it when the last one is unbound.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "state/reader.h"
#include "state/writer.h"
#include "verbs/fabric_port.h"
#include "verbs/types.h"

namespace paravane::verbs {

struct BoundGid {
  Gid gid;
  GidType type = GidType::kRoceV2;
  friend bool operator==(const BoundGid&, const BoundGid&) = default;
};

class GidTable {
 public:
  // `fabric` outlives the table.
  GidTable(FabricPort& fabric, std::uint32_t size) : fabric_(fabric), entries_(size) {}
  ~GidTable();
  GidTable(const GidTable&) = delete;
  GidTable& operator=(const GidTable&) = delete;

  std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }

  // Overwriting is allowed. On an error, the table is not changed. Errors: kOutOfRange (index), and
  // those of FabricPort::announce().
  Status bind(std::uint32_t index, const Gid& gid, GidType type);
  // Errors: kOutOfRange.
  Status unbind(std::uint32_t index);

  // nullopt: the index is out of range, or no GID is bound to it.
  std::optional<BoundGid> at(std::uint32_t index) const;
  bool owns(const Gid& gid, GidType type) const;

  // (docs/state.md) REQUIRES of load(): the table is empty.
  void save(state::Writer& out) const;
  void load(state::Reader& in);

 private:
  void clear(std::optional<BoundGid>& entry);

  FabricPort& fabric_;
  std::vector<std::optional<BoundGid>> entries_;
};

}  // namespace paravane::verbs
