#include "worker/path_reasons.h"

#include <fmt/core.h>

#include <utility>

#include "transport/impaired/impaired_transport.h"

namespace paravane::worker {
namespace {

constexpr const char* kNothingHasIt = "no adapter in this network has the peer's GID";

std::string explain_choice(std::string_view path, verbs::HostId id, const HostReport& host) {
  if (path == "roce") return kNothingHasIt;
  if (id == verbs::HostId{}) return "same host";
  const std::string place = fmt::format("on host {}; ", host.name);
  return place + (host.problem.empty() ? "hca: no usable adapter" : "no channel: " + host.problem);
}

}  // namespace

std::string PathReasons::why(verbs::AdapterId adapter, const device::QueuePairView& qp) const {
  if (!qp.peer_gid) return "";
  if (qp.path == "roce") return why_roce(adapter, qp);
  if (qp.path != "-") return why_path(qp.path, qp.peer_host);
  return why_none(adapter, {.source = qp.own_gid, .peer = *qp.peer_gid, .type = qp.gid_type});
}

std::string PathReasons::why_path(std::string_view path, verbs::HostId host) const {
  const bool is_remote = host != verbs::HostId{};
  const std::string choice =
      explain_choice(path, host, is_remote ? facts_.host(host) : HostReport{});
  return path.ends_with(transport_impaired::kNameSuffix) ? choice + "; impaired" : choice;
}

std::string PathReasons::why_roce(verbs::AdapterId adapter, const device::QueuePairView& qp) const {
  using enum fabric::Directory::Crossing::Kind;
  const auto crossing = directory_.crossing(adapter, *qp.peer_gid, qp.gid_type);
  const std::string place = fmt::format("the peer's GID belongs to {} in port group {}",
                                        crossing.owner, crossing.port_group);
  switch (crossing.kind) {
    case kNone: return "no adapter of the cluster has the peer's GID";
    case kNotNative: return kNothingHasIt;
    case kVersion1: return fmt::format("not through a router: {}; RoCE v1 is not routed", place);
    case kOff:
      return fmt::format("not through a router: {}; port group {} has routed off", place,
                         crossing.off);
    case kRouted: return "routed: " + place;
  }
  std::unreachable();
}

std::string PathReasons::why_not_roce(verbs::AdapterId adapter) const {
  const std::string why = facts_.roce(adapter);
  return why.empty() ? "the RoCE port is not open yet" : why;
}

std::string PathReasons::why_none(verbs::AdapterId adapter,
                                  const verbs::PathUse::Ends& ends) const {
  using enum fabric::Directory::Absence::Why;
  const auto absence = directory_.why_no_route(adapter, ends.source, ends.peer, ends.type);
  switch (absence.why) {
    case kNone: return "a path is chosen when the connection is next used";
    case kNoSource: return "the adapter no longer has the GID of its end of the connection";
    case kOwnLink: return "the adapter is disconnected from its switch";
    case kNotUnicast: return "the peer's GID is not a unicast address";
    case kPeerLink:
      return fmt::format("the peer's GID belongs to {}, which is disconnected from its switch",
                         absence.owner);
    case kHeld: return fmt::format("the peer's GID belongs to {}", absence.owner);
    case kUnknown:
      return fmt::format("{}; roce: the cluster's inventory has not been read yet", kNothingHasIt);
    case kNoOwner: return fmt::format("{}; roce: {}", kNothingHasIt, why_not_roce(adapter));
  }
  std::unreachable();
}

}  // namespace paravane::worker
