// TlsContext: the common settings of all TLS handshakes between hosts of a cluster: TLS 1.3 only,
// certificates signed by the cluster's authority at both ends, and no session resumption.
//
// One thread at a time.

#pragma once

#include <openssl/types.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "authority/identity.h"
#include "base/result.h"
#include "transport/tcp/seal.h"

namespace paravane::cluster {

class TlsContext {
 public:
  // `protocol`: both ends must name the same one (ALPN, RFC 7301).
  // Errors: kInvalidArgument (the files do not fit), kIo.
  static Result<std::unique_ptr<TlsContext>> create(const std::string& identity,
                                                    const std::string& authority,
                                                    const std::string& protocol);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // For a connected socket, which stays the caller's. Not to be used without this context.
  // Errors: kIo.
  Result<SSL*> make(int socket, bool as_client) const;

 private:
  TlsContext(SSL_CTX* context, std::string protocol);

  SSL_CTX* context_;
  std::string protocol_;  // with its length in front
};

// After the handshake: who is at the other end. Errors: kInvalidArgument.
Result<authority::Peer> peer_of(SSL* tls);

// RFC 6066, section 4: no host of ours does, and what one record holds would be many.
bool asks_for_short_records(const SSL* tls);

// Keys that only the two ends know.
struct ChannelKeys {
  transport_tcp::Seal::Key of_client;  // what it sends
  transport_tcp::Seal::Key of_server;
};
Result<ChannelKeys> derive_keys(SSL* tls);

// What OpenSSL has to say about the last failure; with `tls`, also what is wrong with the
// other end's certificate.
std::string tls_problem(const SSL* tls = nullptr);

}  // namespace paravane::cluster
