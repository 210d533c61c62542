// EtcdReach states which hosts can connect to the etcd that runs on this host. After a start of
// etcd, only this host can connect at first. Other hosts can connect after the authority (the host
// that manages the cluster) has compared etcd's contents with its own record of the members. Until
// then, it is possible that the data in etcd is outdated, or that the data and the users of etcd
// have been lost.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace paravane::privsep {

enum class EtcdReach : std::uint8_t {
  kOff,      // it does not run
  kOwnHost,  // with the certificate that this host has now
  kCluster,  // with any certificate that the authority has signed
};

// The text of each value in a message (process_link.h).
inline constexpr std::array<std::string_view, 3> kEtcdReaches = {"off", "own", "on"};

inline constexpr std::string_view to_string(EtcdReach reach) {
  return kEtcdReaches.at(static_cast<std::size_t>(reach));
}

// Any other text means kOff.
inline constexpr EtcdReach parse_etcd_reach(std::string_view text) {
  for (std::size_t i = 0; i < kEtcdReaches.size(); ++i) {
    if (kEtcdReaches.at(i) == text) return static_cast<EtcdReach>(i);
  }
  return EtcdReach::kOff;
}

}  // namespace paravane::privsep
