#include "bench/host_identities.h"

#include <openssl/ssl.h>

#include <chrono>
#include <string>

#include "authority/certificate.h"
#include "bench/question.h"

namespace paravane::bench {
namespace {

constexpr const char* kCluster = "00112233445566778899aabbccddeeff";
constexpr const char* kProtocol = "paravane/1";
constexpr std::chrono::hours kDay{24};

authority::Seconds now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

bool goes_on(SSL* tls, int returned) {
  if (returned == 1) return false;
  const int why = SSL_get_error(tls, returned);
  demand(why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE, "a TLS handshake failed");
  return true;
}

}  // namespace

HostIdentities::HostIdentities() {
  const auto authority = authority::make_authority(kCluster, now() - kDay);
  demand(authority.has_value(), "no authority can be made");
  for (unsigned side = 0; side < 2; ++side) {
    const auto request = authority::make_request();
    demand(request.has_value(), "no key can be made");
    const auto certificate = authority::sign(*authority, request->certificate,
                                             {.identity = {kCluster, "h" + std::to_string(side)},
                                              .address = {},
                                              .from = now() - kDay,
                                              .until = now() + kDay});
    demand(certificate.has_value(), "no certificate can be made");
    auto context = cluster::TlsContext::create(request->key + *certificate, authority->certificate,
                                               {kProtocol});
    demand(context.has_value(), "no TLS context can be made");
    contexts_[side] = std::move(*context);
  }
}

std::array<SSL*, 2> HostIdentities::shake_hands(const std::array<UniqueFd, 2>& sockets) const {
  std::array<SSL*, 2> ends{};
  for (unsigned side = 0; side < 2; ++side) {
    const int socket = sockets[side].get();
    const auto tls =
        side == 0 ? contexts_[side]->connect(socket, kProtocol) : contexts_[side]->accept(socket);
    demand(tls.has_value(), "no TLS connection can be made");
    ends[side] = *tls;
  }
  bool more = true;
  while (more) {
    more = false;
    for (SSL* end : ends) more = goes_on(end, SSL_do_handshake(end)) || more;
  }
  return ends;
}

}  // namespace paravane::bench
