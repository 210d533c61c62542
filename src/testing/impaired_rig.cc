#include "testing/impaired_rig.h"

namespace paravane::fake {

ImpairedRig::ImpairedRig(const transport_impaired::Impairment& impairment)
    : impaired_(local(), turn_clock(),
                [this](verbs::AdapterId from, const verbs::Gid& sgid, const verbs::Gid& dgid,
                       verbs::GidType type) { return directory().route(from, sgid, dgid, type); }) {
  impaired_.set(impairment);
  directory().set_detour([this](const fabric::Directory::Leg&) { return &impaired_; });
  directory().detours_changed();
}

ImpairedRig::~ImpairedRig() {
  take_away();
}

void ImpairedRig::take_away() {
  directory().set_detour({});
  directory().detours_changed();
}

void ImpairedRig::turn_more(Instant now, verbs::Budget budget) {
  impaired_.poll(now, budget);
}

bool ImpairedRig::run(unsigned limit) {
  while (EngineRig::run(limit)) {
    if (impaired_.next_due() == kNever) return true;
    advance(impaired_.next_due() - now());
  }
  return false;
}

}  // namespace paravane::fake
