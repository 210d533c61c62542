#include "verbs/connection.h"

#include "verbs/adapter.h"

namespace paravane::verbs {

void Connection::set(const BoundGid& source, const Gid& dgid) {
  is_set_ = true;
  source_ = source;
  dgid_ = dgid;
  take_path({});
  epoch_ = 0;
}

void Connection::clear() {
  is_set_ = false;
  source_ = {};
  dgid_ = {};
  take_path({});
  epoch_ = 0;
}

void Connection::take_path(const Path& path) {
  const std::optional<PathUse::Way> before = way();
  path_ = path;
  if (use_ != nullptr) use_->move(before, way());
}

void Connection::lose_path() {
  const std::optional<PathUse::Way> before = way();
  path_ = {};
  if (use_ != nullptr && before) use_->lose(*before, {source_.gid, dgid_, source_.type});
}

std::optional<PathUse::Way> Connection::way() const {
  if (path_.transport == nullptr) return std::nullopt;
  return PathUse::Way{path_.transport, path_.host};
}

void Connection::find_path(const Adapter& adapter, const FabricPort& fabric, std::uint64_t epoch) {
  const bool is_ours = is_set_ && adapter.owns_gid(source_.gid, source_.type);
  const std::optional<Path> found =
      is_ours ? fabric.find(dgid_, source_.type) : std::optional<Path>();
  found ? take_path(*found) : lose_path();
  epoch_ = epoch;
}

}  // namespace paravane::verbs
