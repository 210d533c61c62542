// Interrupts: what is saved of them.

#include <cassert>
#include <utility>

#include "vfio_user/eventfd_check.h"
#include "vfio_user/interrupts.h"

namespace paravane::vfio_user {
namespace {

using state::Descriptors;
using state::Reader;
using state::Tag;
using state::Writer;

constexpr Tag kInterruptsOn{1};
constexpr Tag kVector{2};  // a list

// Of a vector.
constexpr Tag kSignalled{1};
constexpr Tag kSignalWaits{2};
constexpr Tag kEventfd{3};  // none: not attached

}  // namespace

void Interrupts::save(Writer& out, Descriptors& descriptors) const {
  out.flag(kInterruptsOn, enabled_);
  for (const Vector& vector : vectors_) {
    const Writer::Group group(out, kVector);
    out.number(kSignalled, vector.signalled);
    out.flag(kSignalWaits, vector.pending);
    if (vector.eventfd) descriptors.save(out, kEventfd, vector.eventfd.get());
  }
}

void Interrupts::load(Reader& in, Descriptors& descriptors) {
  assert(!has_eventfds());
  enabled_ = in.flag(kInterruptsOn);
  for (Vector& vector : vectors_) {
    Reader one = in.group(kVector);
    vector.signalled = one.number(kSignalled);
    vector.pending = one.flag(kSignalWaits);
    vector.eventfd = descriptors.load_if(one, kEventfd);
    one.end();
    one.expect(!vector.eventfd || prepare_eventfd(vector.eventfd.get()), "this is not an eventfd");
    one.expect(!vector.pending || !enabled_ || !vector.eventfd, "a signal waits for nothing");
  }
  in.end();
  if (in.good()) return;
  detach_all();
  clear_pending();
  enabled_ = false;
}

}  // namespace paravane::vfio_user
