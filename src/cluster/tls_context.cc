#include "cluster/tls_context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "authority/certificate.h"

namespace paravane::cluster {
namespace {

constexpr std::string_view kKeyLabel = "EXPORTER-paravane-channel";

// For a few of the longest TLS records.
constexpr std::size_t kReadBufferBytes = std::size_t{128} * 1024;

struct BioDelete {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, BioDelete>;
struct X509Delete {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using Certificate = std::unique_ptr<X509, X509Delete>;

Bio reader_of(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Certificate read_certificate(const std::string& pem) {
  return Certificate(PEM_read_bio_X509(reader_of(pem).get(), nullptr, nullptr, nullptr));
}

bool use_identity(SSL_CTX* context, const std::string& pem) {
  EVP_PKEY* key = PEM_read_bio_PrivateKey(reader_of(pem).get(), nullptr, nullptr, nullptr);
  if (key == nullptr) return false;
  const bool taken = SSL_CTX_use_PrivateKey(context, key) == 1;
  EVP_PKEY_free(key);
  const Certificate certificate = read_certificate(pem);
  return taken && certificate && SSL_CTX_use_certificate(context, certificate.get()) == 1 &&
         SSL_CTX_check_private_key(context) == 1;
}

bool trust(SSL_CTX* context, const std::string& pem) {
  const Certificate authority = read_certificate(pem);
  return authority && X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) == 1;
}

std::string with_length(const std::string& protocol) {
  return std::string(1, static_cast<char>(protocol.size())) + protocol;
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_length,
                    const unsigned char* in, unsigned in_length, void* argument) {
  const auto* ours = static_cast<const std::string*>(argument);
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, out_length,
                                          reinterpret_cast<const unsigned char*>(ours->data()),
                                          static_cast<unsigned>(ours->size()), in, in_length);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

std::string tls_problem(const SSL* tls) {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  ERR_clear_error();
  if (reason == nullptr) return "the connection was closed";
  const long judged = tls != nullptr ? SSL_get_verify_result(tls) : X509_V_OK;
  if (judged == X509_V_OK) return reason;
  return std::string(reason) + ": " + X509_verify_cert_error_string(judged);
}

TlsContext::TlsContext(SSL_CTX* context, std::string protocols)
    : context_(context), protocols_(std::move(protocols)) {}

TlsContext::~TlsContext() {
  SSL_CTX_free(context_);
}

Result<std::unique_ptr<TlsContext>> TlsContext::create(const std::string& identity,
                                                       const std::string& authority,
                                                       const std::vector<std::string>& protocols) {
  ERR_clear_error();
  SSL_CTX* context = SSL_CTX_new(TLS_method());
  if (context == nullptr) return fail(Errc::kIo, "TLS: " + tls_problem());
  std::string named;
  for (const std::string& protocol : protocols) named += with_length(protocol);
  std::unique_ptr<TlsContext> made(new TlsContext(context, std::move(named)));
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  // AES-128-GCM first: the fastest where processors have instructions for it.
  SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384");
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // Nothing follows the handshake: where it is not encrypted, records do.
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_default_read_buffer_len(context, kReadBufferBytes);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  if (!use_identity(context, identity)) {
    return fail(Errc::kInvalidArgument, "this host's certificate cannot be used: " + tls_problem());
  }
  if (!trust(context, authority)) {
    return fail(Errc::kInvalidArgument,
                "the authority's certificate cannot be used: " + tls_problem());
  }
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, &made->protocols_);
  return made;
}

Result<SSL*> TlsContext::make(int socket) const {
  ERR_clear_error();
  SSL* tls = SSL_new(context_);
  if (tls == nullptr || SSL_set_fd(tls, socket) != 1) {
    SSL_free(tls);
    return fail(Errc::kIo, "TLS: " + tls_problem());
  }
  return tls;
}

Result<SSL*> TlsContext::accept(int socket) const {
  auto tls = make(socket);
  if (tls) SSL_set_accept_state(*tls);
  return tls;
}

Result<SSL*> TlsContext::connect(int socket, const std::string& protocol) const {
  auto tls = make(socket);
  if (!tls) return tls;
  SSL_set_connect_state(*tls);
  const std::string named = with_length(protocol);
  // Not 0: there was no memory for it.
  if (SSL_set_alpn_protos(*tls, reinterpret_cast<const unsigned char*>(named.data()),
                          static_cast<unsigned>(named.size())) != 0) {
    SSL_free(*tls);
    return fail(Errc::kIo, "TLS: " + tls_problem());
  }
  return tls;
}

std::string protocol_of(const SSL* tls) {
  const unsigned char* protocol = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(tls, &protocol, &length);
  return {reinterpret_cast<const char*>(protocol), length};
}

Result<authority::Peer> peer_of(SSL* tls) {
  if (protocol_of(tls).empty())
    return fail(Errc::kInvalidArgument, "the peer uses another protocol");
  const Certificate certificate(SSL_get1_peer_certificate(tls));
  const Bio text(BIO_new(BIO_s_mem()));
  if (!certificate || !text || PEM_write_bio_X509(text.get(), certificate.get()) != 1) {
    return fail(Errc::kInvalidArgument, "the peer presented no certificate");
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  const auto inspected = authority::inspect(std::string_view(data, static_cast<std::size_t>(size)));
  if (!inspected) return std::unexpected(inspected.error());
  if (!inspected->identity) {
    return fail(Errc::kInvalidArgument, "the peer's certificate does not identify a host");
  }
  return authority::Peer{.identity = *inspected->identity, .key = inspected->key};
}

bool asks_for_short_records(const SSL* tls) {
  return SSL_SESSION_get_max_fragment_length(SSL_get_session(tls)) !=
         TLSEXT_max_fragment_length_DISABLED;
}

Result<ChannelKeys> derive_keys(SSL* tls) {
  ChannelKeys keys{};
  std::array<unsigned char, 2 * std::tuple_size_v<transport_channel::Seal::Key>> both{};
  if (SSL_export_keying_material(tls, both.data(), both.size(), kKeyLabel.data(), kKeyLabel.size(),
                                 nullptr, 0, 0) != 1) {
    return fail(Errc::kIo, "TLS: " + tls_problem());
  }
  const auto bytes = std::as_bytes(std::span(both));
  std::ranges::copy(bytes.first(keys.of_client.size()), keys.of_client.begin());
  std::ranges::copy(bytes.last(keys.of_server.size()), keys.of_server.begin());
  return keys;
}

}  // namespace paravane::cluster
