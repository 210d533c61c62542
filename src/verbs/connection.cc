#include "verbs/connection.h"

#include <utility>

#include "verbs/adapter.h"

namespace paravane::verbs {

void Connection::set(const BoundGid& source, const Gid& dgid) {
  is_set_ = true;
  source_ = source;
  dgid_ = dgid;
  forget_path();
}

void Connection::clear() {
  is_set_ = false;
  source_ = {};
  dgid_ = {};
  forget_path();
}

void Connection::forget_path() {
  path_.reset();
  epoch_ = 0;
  note_way();
}

void Connection::note_way() {
  if (use_ == nullptr) return;
  const auto way = path_ ? std::optional(PathUse::Way{path_->transport, path_->host})
                         : std::optional<PathUse::Way>();
  use_->move(way_, way);
  way_ = way;
}

const Path* Connection::path(const Adapter& adapter, const FabricPort& fabric) {
  const std::uint64_t epoch = fabric.epoch();
  if (epoch == 0 || epoch != epoch_) {
    path_.reset();
    if (is_set_ && adapter.owns_gid(source_.gid, source_.type)) {
      path_ = fabric.find(dgid_, source_.type);
    }
    epoch_ = epoch;
    if (!path_ && is_set_ && way_) {
      use_->lose(*std::exchange(way_, std::nullopt), {source_.gid, dgid_, source_.type});
    }
    note_way();
  }
  return path_ ? &*path_ : nullptr;
}

}  // namespace paravane::verbs
