// Connection holds the two GIDs of a connected queue pair, its own and its peer's, and the path
// between them. The fabric stores which adapter has which GID. Connection looks up the path again
// only when the fabric reports a change, so that messages do not need a lookup.
//
// Owner thread only.

#pragma once

#include <cstdint>
#include <optional>

#include "state/reader.h"
#include "state/writer.h"
#include "verbs/fabric_port.h"
#include "verbs/gid_table.h"
#include "verbs/path_use.h"
#include "verbs/types.h"

namespace paravane::verbs {

class Adapter;

class Connection {
 public:
  Connection() = default;
  ~Connection() { clear(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // From now on, counts the path of this connection in `use`, which outlives it.
  void count_in(PathUse& use) { use_ = &use; }

  bool is_set() const { return is_set_; }
  const Gid& sgid() const { return source_.gid; }
  const Gid& dgid() const { return dgid_; }
  GidType gid_type() const { return source_.type; }

  // Sets the two GIDs: `source`, which is a GID of the adapter, and the peer's `dgid`.
  void set(const BoundGid& source, const Gid& dgid);
  bool leads(const BoundGid& source, const Gid& dgid) const {
    return is_set_ && source_ == source && dgid_ == dgid;
  }
  void clear();

  // Both GIDs (docs/state.md); the path is found anew. REQUIRES of save(): is_set().
  void save(state::Writer& out) const;
  void load(state::Reader& in);

  // nullptr: no adapter has the peer's GID now, or the adapter no longer has `source`.
  const Path* path(const Adapter& adapter, const FabricPort& fabric) {
    const std::uint64_t epoch = fabric.epoch();
    if (epoch == 0 || epoch != epoch_) [[unlikely]]
      find_path(adapter, fabric, epoch);
    return last_path();
  }

  // The last result of path().
  const Path* last_path() const { return path_.transport != nullptr ? &path_ : nullptr; }

 private:
  void find_path(const Adapter& adapter, const FabricPort& fabric, std::uint64_t epoch);
  void take_path(const Path& path);  // without a transport: none
  void lose_path();
  std::optional<PathUse::Way> way() const;

  Path path_;                // without a transport: there is none
  std::uint64_t epoch_ = 0;  // of the fabric, when path_ was found; 0: ask
  PathUse* use_ = nullptr;   // counts path_
  bool is_set_ = false;
  BoundGid source_;
  Gid dgid_;
};

}  // namespace paravane::verbs
