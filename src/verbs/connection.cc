#include "verbs/connection.h"

#include "verbs/adapter.h"

namespace paravane::verbs {

void Connection::set(const BoundGid& source, const Gid& dgid) {
  is_set_ = true;
  source_ = source;
  dgid_ = dgid;
  path_.reset();
  epoch_ = 0;
}

const Path* Connection::path(const Adapter& adapter, const FabricPort& fabric) {
  const std::uint64_t epoch = fabric.epoch();
  if (epoch == 0 || epoch != epoch_) {
    path_.reset();
    if (is_set_ && adapter.owns_gid(source_.gid, source_.type)) {
      path_ = fabric.find(dgid_, source_.type);
    }
    epoch_ = epoch;
  }
  return path_ ? &*path_ : nullptr;
}

}  // namespace paravane::verbs
