// EtcdReach: from where the etcd that runs on this host may be reached. A newly started etcd is
// reachable from its own host only, until the authority has compared its contents with the book:
// its data may be outdated, or lost together with its users.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace paravane::privsep {

enum class EtcdReach : std::uint8_t {
  kOff,      // it does not run
  kOwnHost,  // by the certificate that this host has now
  kCluster,  // by any certificate of the authority's
};

// As it stands in a note (process_link.h).
inline constexpr std::array<std::string_view, 3> kEtcdReaches = {"off", "own", "on"};

inline constexpr std::string_view to_string(EtcdReach reach) {
  return kEtcdReaches.at(static_cast<std::size_t>(reach));
}

// What is none of them is kOff.
inline constexpr EtcdReach parse_etcd_reach(std::string_view text) {
  for (std::size_t i = 0; i < kEtcdReaches.size(); ++i) {
    if (kEtcdReaches.at(i) == text) return static_cast<EtcdReach>(i);
  }
  return EtcdReach::kOff;
}

}  // namespace paravane::privsep
