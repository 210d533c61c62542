#include "authority/certificate.h"

#include <fmt/core.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>
#include <vector>

#include "authority/openssl_error.h"
#include "authority/openssl_handles.h"

namespace paravane::authority {
namespace {

using Request = std::unique_ptr<X509_REQ, Freer<X509_REQ_free>>;
using Store = std::unique_ptr<X509_STORE, Freer<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, Freer<X509_STORE_CTX_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Freer<GENERAL_NAMES_free>>;

std::unexpected<Error> no_such(const char* what) {
  ERR_clear_error();
  return fail(Errc::kInvalidArgument, std::string("the data is not a valid ") + what);
}

std::string take_text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

Result<std::string> print_key(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return openssl_failed("write a key");
  }
  return take_text(bio.get());
}

Result<std::string> print_certificate(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(bio.get(), certificate) != 1) return openssl_failed("write a certificate");
  return take_text(bio.get());
}

bool is_ours(EVP_PKEY* key) {
  std::array<char, 64> group{};
  return key != nullptr && EVP_PKEY_is_a(key, "EC") == 1 &&
         EVP_PKEY_get_group_name(key, group.data(), group.size(), nullptr) == 1 &&
         std::string_view(group.data()) == "prime256v1";
}

bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_serial(X509* certificate) {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7F) | 0x40);  // positive, and as long as said
  BIGNUM* number = BN_bin2bn(bytes.data(), bytes.size(), nullptr);
  const bool set = BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return set;
}

bool set_times(X509* certificate, Seconds from, Seconds until) {
  const auto seconds = [](Seconds time) { return time.time_since_epoch().count(); };
  return ASN1_TIME_set(X509_getm_notBefore(certificate), seconds(from)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), seconds(until)) != nullptr;
}

bool add_name(X509_NAME* name, const char* field, const std::string& value) {
  return X509_NAME_add_entry_by_txt(name, field, MBSTRING_ASC,
                                    reinterpret_cast<const unsigned char*>(value.c_str()), -1, -1,
                                    0) == 1;
}

// What all our certificates have in common.
bool fill_in(X509* certificate, EVP_PKEY* key, Seconds from, Seconds until,
             const std::string& cluster, const std::string& unit) {
  return X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
         set_times(certificate, from, until) && X509_set_pubkey(certificate, key) == 1 &&
         add_name(X509_get_subject_name(certificate), "O", "Paravane cluster " + cluster) &&
         add_name(X509_get_subject_name(certificate), "OU", unit);
}

std::optional<Seconds> read_time(const ASN1_TIME* time) {
  tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return Seconds(std::chrono::seconds(::timegm(&parts)));
}

// Exactly one URI, or nobody knows who speaks.
std::optional<Identity> read_identity(X509* certificate) {
  const Names names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::optional<Identity> identity;
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    if (identity) return std::nullopt;
    const ASN1_IA5STRING* uri = name->d.uniformResourceIdentifier;
    identity = parse_identity({reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                               static_cast<std::size_t>(ASN1_STRING_length(uri))});
    if (!identity) return std::nullopt;
  }
  return identity;
}

std::string print_hex(const unsigned char* bytes, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

// Empty: OpenSSL failed.
std::string fingerprint_of_key(X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  if (size <= 0) return {};
  std::string digest = hash({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  return digest;
}

Result<KeyPair> request_of(const Key& key) {
  const Request request(X509_REQ_new());
  const Bio bio(BIO_new(BIO_s_mem()));
  const bool made = key && request && X509_REQ_set_pubkey(request.get(), key.get()) == 1 &&
                    X509_REQ_sign(request.get(), key.get(), EVP_sha256()) > 0 &&
                    PEM_write_bio_X509_REQ(bio.get(), request.get()) == 1;
  if (!made) return openssl_failed("create a certificate request");
  auto key_text = print_key(key.get());
  if (!key_text) return std::unexpected(key_text.error());
  return KeyPair{.key = std::move(*key_text), .certificate = take_text(bio.get())};
}

}  // namespace

Result<KeyPair> make_authority(const std::string& cluster, Seconds now) {
  if (now < kAuthoritySince) {
    return fail(Errc::kBadState, "this host's clock is wrong: it shows a time before 2026");
  }
  const Key key(EVP_EC_gen("P-256"));
  const Cert certificate(X509_new());
  if (!key || !certificate) return openssl_failed("create a key");
  X509* raw = certificate.get();
  const bool made =
      fill_in(raw, key.get(), kAuthoritySince, now + kAuthorityLifetime, cluster, "authority") &&
      X509_set_issuer_name(raw, X509_get_subject_name(raw)) == 1 &&
      add_extension(raw, raw, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      add_extension(raw, raw, NID_key_usage, "critical,keyCertSign,cRLSign") &&
      add_extension(raw, raw, NID_subject_key_identifier, "hash") &&
      X509_sign(raw, key.get(), EVP_sha256()) > 0;
  if (!made) return openssl_failed("create a certificate");
  auto key_text = print_key(key.get());
  if (!key_text) return std::unexpected(key_text.error());
  auto text = print_certificate(raw);
  if (!text) return std::unexpected(text.error());
  return KeyPair{.key = std::move(*key_text), .certificate = std::move(*text)};
}

Result<KeyPair> make_request() {
  return request_of(Key(EVP_EC_gen("P-256")));
}

Result<KeyPair> make_request_with(std::string_view key) {
  const Key known = read_key(key);
  if (!is_ours(known.get())) return no_such("ECDSA P-256 key");
  return request_of(known);
}

Result<std::string> sign(const KeyPair& authority, std::string_view request, const Grant& grant) {
  const Bio bio = reader(request);
  const Request asked(bio ? PEM_read_bio_X509_REQ(bio.get(), nullptr, no_password, nullptr)
                          : nullptr);
  if (!asked) return no_such("certificate request");
  EVP_PKEY* key = X509_REQ_get0_pubkey(asked.get());
  if (!is_ours(key)) return no_such("certificate request with an ECDSA P-256 key");
  if (X509_REQ_verify(asked.get(), key) != 1)
    return no_such("certificate request that is signed with its own key");
  const Cert issuer = read_certificate(authority.certificate);
  const Key issuer_key = read_key(authority.key);
  if (!issuer || !issuer_key) return no_such("certificate and key of an authority");
  const Cert certificate(X509_new());
  X509* raw = certificate.get();
  std::string names = "URI:" + print_identity(grant.identity);
  if (!grant.address.empty()) names += ",IP:" + grant.address;
  const bool made = fill_in(raw, key, grant.from, grant.until, grant.identity.cluster, "host") &&
                    X509_set_issuer_name(raw, X509_get_subject_name(issuer.get())) == 1 &&
                    add_extension(raw, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") &&
                    add_extension(raw, issuer.get(), NID_key_usage, "critical,digitalSignature") &&
                    add_extension(raw, issuer.get(), NID_ext_key_usage, "serverAuth,clientAuth") &&
                    add_extension(raw, issuer.get(), NID_subject_alt_name, names) &&
                    add_extension(raw, issuer.get(), NID_authority_key_identifier, "keyid") &&
                    X509_sign(raw, issuer_key.get(), EVP_sha256()) > 0;
  if (!made) return openssl_failed("sign a certificate");
  return print_certificate(raw);
}

Result<Certificate> inspect(std::string_view text) {
  const Cert certificate = read_certificate(text);
  if (!certificate) return no_such("certificate");
  const auto from = read_time(X509_get0_notBefore(certificate.get()));
  const auto until = read_time(X509_get0_notAfter(certificate.get()));
  if (!from || !until) return no_such("certificate with dates of validity");
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (X509_digest(certificate.get(), EVP_sha256(), digest.data(), &size) != 1) {
    return openssl_failed("hash a certificate");
  }
  std::string key = fingerprint_of_key(certificate.get());
  if (key.empty()) return openssl_failed("hash a key");
  return Certificate{.identity = read_identity(certificate.get()),
                     .valid = {.from = *from, .until = *until},
                     .fingerprint = print_hex(digest.data(), size),
                     .key = std::move(key)};
}

bool is_signed_by(std::string_view text, std::string_view authority, Seconds now) {
  const Cert certificate = read_certificate(text);
  const Cert issuer = read_certificate(authority);
  const Store store(X509_STORE_new());
  const StoreContext context(X509_STORE_CTX_new());
  if (!certificate || !issuer || X509_STORE_add_cert(store.get(), issuer.get()) != 1 ||
      X509_STORE_CTX_init(context.get(), store.get(), certificate.get(), nullptr) != 1) {
    ERR_clear_error();
    return false;
  }
  X509_STORE_CTX_set_time(context.get(), 0, now.time_since_epoch().count());
  const bool good = X509_verify_cert(context.get()) == 1;
  ERR_clear_error();
  return good;
}

Result<std::string> make_secret(std::size_t bytes) {
  std::vector<unsigned char> random(bytes);
  if (RAND_bytes(random.data(), static_cast<int>(bytes)) != 1)
    return openssl_failed("create a secret");
  return print_hex(random.data(), random.size());
}

std::string hash(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return print_hex(digest.data(), digest.size());
}

bool equal_secrets(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace paravane::authority
