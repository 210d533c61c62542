// HostIdentities: a cluster of two hosts with its authority, and the handshakes between
// them: TLS 1.3 as the daemon makes it, with its ciphers and certificates.
//
// One thread.

#pragma once

#include <openssl/types.h>

#include <array>
#include <memory>

#include "base/unique_fd.h"
#include "cluster/tls_context.h"

namespace paravane::bench {

class HostIdentities {
 public:
  HostIdentities();

  // Over two ends of a connection, which stay the caller's; the first dials. The results
  // are the caller's (SSL_free), and not to be used without this object.
  std::array<SSL*, 2> shake_hands(const std::array<UniqueFd, 2>& sockets) const;

 private:
  std::array<std::unique_ptr<cluster::TlsContext>, 2> contexts_;
};

}  // namespace paravane::bench
