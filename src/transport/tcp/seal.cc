#include "transport/tcp/seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <cstring>

#include "base/wire_int.h"

namespace paravane::transport_tcp {
namespace {

const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

}  // namespace

Result<std::unique_ptr<Seal>> Seal::create(const Key& key) {
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  if (context == nullptr) return fail(Errc::kIo, "seal: no memory");
  std::unique_ptr<Seal> seal(new Seal(context));
  if (EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nullptr, raw(key.data()), nullptr) != 1) {
    return fail(Errc::kIo, "seal: AES-128-GCM is not to be had");
  }
  return seal;
}

Seal::~Seal() {
  EVP_CIPHER_CTX_free(context_);
}

Seal::Tag Seal::next(std::span<const std::byte> first, std::span<const std::byte> second) {
  std::array<unsigned char, 12> nonce{};
  const Le64 number(records_++);
  std::memcpy(nonce.data(), &number, sizeof number);
  Tag tag{};
  int length = 0;
  // After a key was taken none of these can fail.
  EVP_EncryptInit_ex(context_, nullptr, nullptr, nullptr, nonce.data());
  EVP_EncryptUpdate(context_, nullptr, &length, raw(first.data()), static_cast<int>(first.size()));
  EVP_EncryptUpdate(context_, nullptr, &length, raw(second.data()),
                    static_cast<int>(second.size()));
  std::array<unsigned char, 16> nothing{};
  EVP_EncryptFinal_ex(context_, nothing.data(), &length);
  EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag.size()), tag.data());
  return tag;
}

Seal::Tag Seal::again(std::span<const std::byte> first, std::span<const std::byte> second) {
  --records_;
  return next(first, second);
}

bool Seal::matches_next(std::span<const std::byte> first, std::span<const std::byte> second,
                        const Tag& tag) {
  const Tag expected = next(first, second);
  return CRYPTO_memcmp(expected.data(), tag.data(), tag.size()) == 0;
}

}  // namespace paravane::transport_tcp
