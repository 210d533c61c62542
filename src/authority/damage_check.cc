#include "authority/damage_check.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <array>
#include <memory>

#include "authority/certificate.h"

namespace paravane::authority {
namespace {

template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using Cert = std::unique_ptr<X509, Freer<X509_free>>;
using Digest = std::unique_ptr<EVP_MD_CTX, Freer<EVP_MD_CTX_free>>;

constexpr std::array<unsigned char, 8> kSample = {'p', 'a', 'r', 'a', 'v', 'a', 'n', 'e'};
constexpr std::size_t kMaxSignature = 512;

Bio reader(std::string_view text) {
  if (text.size() > kMaxPem) return nullptr;
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// PEM without a password: nobody is asked for one.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) {
  return -1;
}

Cert read_certificate(std::string_view text) {
  const Bio bio = reader(text);
  return Cert(bio ? PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr) : nullptr);
}

Key read_key(std::string_view text) {
  const Bio bio = reader(text);
  return Key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr) : nullptr);
}

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
  if (!own) return not_good("there is no key in it that can be read");
  const Cert shown = read_certificate(certificate);
  EVP_PKEY* with = shown ? X509_get0_pubkey(shown.get()) : nullptr;
  if (with == nullptr) return not_good("there is no certificate that can be read");
  if (!signs_for(own.get(), with)) return not_good("the key is not that of the certificate");
  ERR_clear_error();
  return {};
}

Status check_signature(std::string_view certificate, std::string_view issuer) {
  const Cert shown = read_certificate(certificate);
  if (!shown) return not_good("there is no certificate in it that can be read");
  const Cert by = read_certificate(issuer);
  EVP_PKEY* key = by ? X509_get0_pubkey(by.get()) : nullptr;
  if (key == nullptr) return not_good("the authority's certificate cannot be read");
  if (X509_verify(shown.get(), key) != 1) {
    return not_good("the certificate is not as the authority has signed it");
  }
  ERR_clear_error();
  return {};
}

}  // namespace paravane::authority
