// Owning pointers to OpenSSL objects, and functions that read such objects from PEM text. Only the
// source files of this folder use them. Other code passes and receives keys and certificates as
// text.
//
// Stateless, any thread.

#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <string_view>

#include "authority/certificate.h"

namespace paravane::authority {

inline constexpr std::size_t kMaxSignature = 512;  // bytes, when signing and verifying

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

// Null: the text is too long.
inline Bio reader(std::string_view text) {
  if (text.size() > kMaxPem) return nullptr;
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// A password callback for encrypted PEM that supplies no password, so OpenSSL never asks for one.
inline int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) {
  return -1;
}

// Null: the text contains no certificate, or no key, that can be read.
inline Cert read_certificate(std::string_view text) {
  const Bio bio = reader(text);
  return Cert(bio ? PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr) : nullptr);
}

inline Key read_key(std::string_view text) {
  const Bio bio = reader(text);
  return Key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr) : nullptr);
}

}  // namespace paravane::authority
