#include "worker/path_reasons.h"

#include <fmt/core.h>

#include <utility>

#include "model/mac_address.h"
#include "transport/impaired/impaired_transport.h"

namespace paravane::worker {
namespace {

using fabric::Directory;
using transport_roce::ProbeReport;
using transport_roce::ProbeState;

constexpr const char* kNothingHasIt = "no adapter in this network has the peer's GID";

std::string why_not_hca(const HostReport& host) {
  const TrunkReport& trunk = host.trunk;
  if (trunk.why.empty()) return "hca: no usable adapter";
  return trunk.at_peer ? fmt::format("hca: {} {}", host.name, trunk.why) : "hca: " + trunk.why;
}

std::string explain_choice(std::string_view path, verbs::HostId id, const HostReport& host) {
  if (path == "roce") return kNothingHasIt;
  if (id == verbs::HostId{}) return "same host";
  const std::string place = fmt::format("on host {}; ", host.name);
  if (path.starts_with("hca")) return place + "over " + host.trunk.device;
  return place + (host.problem.empty() ? why_not_hca(host) : "no channel: " + host.problem);
}

std::string place_of(const Directory::Crossing& crossing) {
  return fmt::format("the peer's GID belongs to {} in port group {}", crossing.owner,
                     crossing.port_group);
}

}  // namespace

std::string PathReasons::why(verbs::AdapterId adapter, const device::QueuePairView& qp) const {
  if (!qp.peer_gid) return "";
  if (qp.path == "roce") return why_roce(adapter, qp);
  if (qp.path != "-") {
    const std::string why = why_path(qp.path, qp.peer_host);
    const bool is_hca = facts_.copies && qp.path.starts_with("hca");
    const std::string copies = is_hca ? facts_.copies(adapter, qp.peer_host) : "";
    return copies.empty() ? why : fmt::format("{}; long messages are copied: {}", why, copies);
  }
  return why_none(adapter, {.source = qp.own_gid, .peer = *qp.peer_gid, .type = qp.gid_type});
}

std::string PathReasons::why_path(std::string_view path, verbs::HostId host) const {
  const bool is_remote = host != verbs::HostId{};
  const std::string choice =
      explain_choice(path, host, is_remote ? facts_.host(host) : HostReport{});
  return path.ends_with(transport_impaired::kNameSuffix) ? choice + "; impaired" : choice;
}

std::string PathReasons::why_roce(verbs::AdapterId adapter, const device::QueuePairView& qp) const {
  using enum Directory::Crossing::Kind;
  const auto crossing = directory_.crossing(adapter, *qp.peer_gid, qp.gid_type);
  const std::string place = place_of(crossing);
  switch (crossing.kind) {
    case kNone: return "no adapter of the cluster has the peer's GID";
    case kNotNative: return kNothingHasIt;
    case kVersion1: return fmt::format("not through a router: {}; RoCE v1 is not routed", place);
    case kOff:
      return fmt::format("not through a router: {}; port group {} has routed off", place,
                         crossing.off);
    case kRouted:
      return why_routed(crossing, facts_.probe ? facts_.probe(adapter, qp) : ProbeReport{});
  }
  std::unreachable();
}

std::string PathReasons::why_routed(verbs::AdapterId adapter, const ProbeReport& probe) const {
  const auto crossing = directory_.crossing(adapter, probe.way.peer, verbs::GidType::kRoceV2);
  if (crossing.kind != Directory::Crossing::Kind::kRouted) return "";
  return why_routed(crossing, probe);
}

std::string PathReasons::why_routed(const Directory::Crossing& crossing,
                                    const ProbeReport& probe) const {
  std::string routed = "routed: " + place_of(crossing);
  if (!crossing.absence.empty()) return fmt::format("{}; {}", routed, crossing.absence);
  const std::string through = "UDP port 4791 through " + model::format_mac(probe.way.gateway);
  switch (probe.state) {
    case ProbeState::kNone:
      return routed + "; the router is probed when the connection is next used";
    case ProbeState::kRefused: return routed + "; not probed: as many ways are probed as may be";
    case ProbeState::kAwaited:
      return fmt::format("{}; an answer on {} is awaited", routed, through);
    case ProbeState::kAnswered: return routed;
    case ProbeState::kUnanswered: break;
  }
  if (crossing.host != verbs::HostId{}) {
    const HostReport host = facts_.host(crossing.host);
    if (host.lacks_probe) {
      return fmt::format("{}; the release of host {} answers no probe", routed, host.name);
    }
  }
  if (probe.hears_peer) {
    return fmt::format("{}; its packets come, but no answer to the probe on {}", routed, through);
  }
  return fmt::format("not through the router: {} in port group {} has not answered on {}",
                     crossing.owner, crossing.port_group, through);
}

std::string PathReasons::why_not_roce(verbs::AdapterId adapter) const {
  const std::string why = facts_.roce(adapter);
  return why.empty() ? "the RoCE port is not open yet" : why;
}

std::string PathReasons::why_none(verbs::AdapterId adapter,
                                  const verbs::PathUse::Ends& ends) const {
  using enum Directory::Absence::Why;
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
