#include "authority/damage_check.h"

#include <openssl/err.h>

#include <array>

#include "authority/openssl_handles.h"

namespace paravane::authority {
namespace {

constexpr std::array<unsigned char, 8> kSample = {'p', 'a', 'r', 'a', 'v', 'a', 'n', 'e'};

std::unexpected<Error> not_good(const char* what) {
  ERR_clear_error();
  return fail(Errc::kInvalidArgument, what);
}

bool signs_for(EVP_PKEY* key, EVP_PKEY* shown) {
  const Digest digest(EVP_MD_CTX_new());
  const Digest check(EVP_MD_CTX_new());
  std::array<unsigned char, kMaxSignature> signature{};
  std::size_t size = signature.size();
  return EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
         EVP_DigestSign(digest.get(), signature.data(), &size, kSample.data(), kSample.size()) ==
             1 &&
         EVP_DigestVerifyInit(check.get(), nullptr, EVP_sha256(), nullptr, shown) == 1 &&
         EVP_DigestVerify(check.get(), signature.data(), size, kSample.data(), kSample.size()) == 1;
}

}  // namespace

Status check_key(std::string_view key, std::string_view certificate) {
  const Key own = read_key(key);
  if (!own) return not_good("the file contains no readable private key");
  const Cert shown = read_certificate(certificate);
  EVP_PKEY* with = shown ? X509_get0_pubkey(shown.get()) : nullptr;
  if (with == nullptr) return not_good("the certificate of the private key cannot be read");
  if (!signs_for(own.get(), with))
    return not_good("the private key does not match the certificate");
  ERR_clear_error();
  return {};
}

Status check_signature(std::string_view certificate, std::string_view issuer) {
  const Cert shown = read_certificate(certificate);
  if (!shown) return not_good("the file contains no readable certificate");
  const Cert by = read_certificate(issuer);
  EVP_PKEY* key = by ? X509_get0_pubkey(by.get()) : nullptr;
  if (key == nullptr) return not_good("the authority's certificate cannot be read");
  if (X509_verify(shown.get(), key) != 1) {
    return not_good("the authority's signature on the certificate is not valid");
  }
  ERR_clear_error();
  return {};
}

}  // namespace paravane::authority
