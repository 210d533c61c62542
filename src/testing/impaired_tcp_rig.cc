#include "testing/impaired_tcp_rig.h"

#include <algorithm>

namespace paravane::fake {

using transport_impaired::ImpairedTransport;

ImpairedTcpRig::ImpairedTcpRig(const transport_impaired::Impairment& impairment) {
  for (unsigned side = 0; side < impaired_.size(); ++side) {
    impaired_.at(side) = std::make_unique<ImpairedTransport>(
        tcp(side), turn_clock(),
        [this, side](verbs::AdapterId from, const verbs::Gid& sgid, const verbs::Gid& dgid,
                     verbs::GidType type) {
          return directory(side).route(from, sgid, dgid, type);
        });
    impaired(side).set(impairment);
    directory(side).set_detour(
        [this, side](const fabric::Directory::Leg&) { return impaired_.at(side).get(); });
    directory(side).detours_changed();
  }
}

ImpairedTcpRig::~ImpairedTcpRig() {
  take_away();
}

void ImpairedTcpRig::take_away() {
  for (unsigned side = 0; side < impaired_.size(); ++side) {
    directory(side).set_detour({});
    directory(side).detours_changed();
  }
}

void ImpairedTcpRig::turn_more(unsigned side, Instant now, verbs::Budget budget) {
  impaired(side).poll(now, budget);
}

bool ImpairedTcpRig::more_work() const {
  return std::ranges::any_of(impaired_, [](const auto& one) { return one->has_work(); });
}

Instant ImpairedTcpRig::next_due() const {
  return std::min(impaired_[0]->next_due(), impaired_[1]->next_due());
}

bool ImpairedTcpRig::run(unsigned limit) {
  while (TcpRig::run(limit)) {
    if (next_due() == kNever) return true;
    advance(next_due() - now());
  }
  return false;
}

}  // namespace paravane::fake
