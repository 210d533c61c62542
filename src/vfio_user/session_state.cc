// Session: what is saved of it.

#include <cassert>
#include <limits>

#include "vfio_user/session.h"

namespace paravane::vfio_user {
namespace {

using state::Reader;
using state::Tag;
using state::Writer;

constexpr Tag kClientMinor{1};
constexpr Tag kClientFds{2};
constexpr Tag kClientData{3};
constexpr Tag kMemoryIsPrivate{4};

}  // namespace

void Session::save(Writer& out) const {
  assert(negotiated_);
  const ClientLimits& limits = regions_.limits();
  out.number(kClientMinor, limits.minor);
  out.number(kClientFds, limits.max_fds);
  out.number(kClientData, limits.max_data);
  out.flag(kMemoryIsPrivate, memory_is_private());
}

void Session::load(Reader& in) {
  ClientLimits limits;
  limits.minor = static_cast<std::uint16_t>(
      in.number(kClientMinor, std::numeric_limits<std::uint16_t>::max()));
  limits.max_fds =
      static_cast<std::uint32_t>(in.number(kClientFds, std::numeric_limits<std::uint32_t>::max()));
  limits.max_data = static_cast<std::uint32_t>(in.number(kClientData, kMaxDataBytes));
  dma_.load_memory_is_private(in.flag(kMemoryIsPrivate));
  in.end();
  regions_.set_limits(limits);
  negotiated_ = true;
}

}  // namespace paravane::vfio_user
