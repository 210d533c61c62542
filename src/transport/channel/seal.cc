#include "transport/channel/seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <cstring>

#include "base/wire_int.h"

namespace paravane::transport_channel {
namespace {

const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

}  // namespace

Result<std::unique_ptr<Seal>> Seal::create(const Key& key) {
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  if (context == nullptr) return fail(Errc::kIo, "seal: out of memory");
  std::unique_ptr<Seal> seal(new Seal(context));
  if (EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nullptr, raw(key.data()), nullptr) != 1) {
    return fail(Errc::kIo, "seal: AES-128-GCM is not available");
  }
  return seal;
}

Seal::~Seal() {
  EVP_CIPHER_CTX_free(context_);
}

// After a key was taken nothing here can fail.
void Seal::begin() {
  std::array<unsigned char, 12> nonce{};
  const Le64 number(begun_++);
  std::memcpy(nonce.data(), &number, sizeof number);
  EVP_EncryptInit_ex(context_, nullptr, nullptr, nullptr, nonce.data());
}

void Seal::add(std::span<const std::byte> part) {
  int length = 0;
  EVP_EncryptUpdate(context_, nullptr, &length, raw(part.data()), static_cast<int>(part.size()));
}

Seal::Tag Seal::end() {
  Tag tag{};
  int length = 0;
  std::array<unsigned char, 16> nothing{};
  EVP_EncryptFinal_ex(context_, nothing.data(), &length);
  EVP_CIPHER_CTX_ctrl(context_, EVP_CTRL_AEAD_GET_TAG, static_cast<int>(tag.size()), tag.data());
  return tag;
}

bool Seal::end_matches(const Tag& tag) {
  const Tag expected = end();
  return CRYPTO_memcmp(expected.data(), tag.data(), tag.size()) == 0;
}

Seal::Tag Seal::next(std::span<const std::byte> first, std::span<const std::byte> second) {
  begin();
  add(first);
  add(second);
  return end();
}

Seal::Tag Seal::again(std::span<const std::byte> first, std::span<const std::byte> second) {
  --begun_;
  return next(first, second);
}

bool Seal::matches_next(std::span<const std::byte> first, std::span<const std::byte> second,
                        const Tag& tag) {
  begin();
  add(first);
  add(second);
  return end_matches(tag);
}

}  // namespace paravane::transport_channel
