// A bare TLS stream between the two networks, a side on each core: the daemon's version
// and cipher, OpenSSL's calls and nothing else.

#pragma once

#include "bench/cores.h"
#include "bench/host_identities.h"
#include "bench/traffic.h"
#include "bench/two_networks.h"

namespace paravane::bench {

// Moves about so many bytes.
Traffic bare_tls(const Cores& cores, const TwoNetworks& networks, const HostIdentities& identities,
                 std::uint64_t bytes);

}  // namespace paravane::bench
