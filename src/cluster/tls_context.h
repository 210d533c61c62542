// TlsContext: the settings that all TLS handshakes between hosts of a cluster share. They require
// TLS 1.3 and, at both ends, a certificate that the cluster's authority has signed. Session
// resumption is off.
//
// One thread at a time.

#pragma once

#include <openssl/types.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "authority/identity.h"
#include "base/result.h"
#include "transport/channel/seal.h"

namespace paravane::cluster {

class TlsContext {
 public:
  // `protocols`: names of protocols, of which both hosts must give the same one (ALPN, RFC 7301).
  // Errors: kInvalidArgument (the key does not belong to the certificate), kIo.
  static Result<std::unique_ptr<TlsContext>> create(const std::string& identity,
                                                    const std::string& authority,
                                                    const std::vector<std::string>& protocols);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // Creates a TLS connection on a connected socket, which the caller continues to own. The context
  // must outlive the connection. Errors: kIo.
  Result<SSL*> accept(int socket) const;
  // As a client, which names one of the protocols.
  Result<SSL*> connect(int socket, const std::string& protocol) const;

 private:
  TlsContext(SSL_CTX* context, std::string protocols);
  Result<SSL*> make(int socket) const;

  SSL_CTX* context_;
  std::string protocols_;  // each preceded by its length
};

// The protocol that both ends named. Empty: they have none in common.
std::string protocol_of(const SSL* tls);

// The host at the other end, after the handshake. Errors: kInvalidArgument.
Result<authority::Peer> peer_of(SSL* tls);

// Whether the other end asks for short records (RFC 6066, section 4). No host of a cluster does so,
// and the data of one record would then need many.
bool asks_for_short_records(const SSL* tls);

// Keys for the two directions of a channel that only the two hosts know.
struct ChannelKeys {
  transport_channel::Seal::Key of_client;  // for data that the client sends
  transport_channel::Seal::Key of_server;
};
Result<ChannelKeys> derive_keys(SSL* tls);

// OpenSSL's description of the last failure. With `tls`, it includes the problem with the
// certificate of the other end.
std::string tls_problem(const SSL* tls = nullptr);

}  // namespace paravane::cluster
