#include "authority/sealed_text.h"

#include <fmt/core.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>

#include <array>
#include <cstdint>

#include "authority/openssl_error.h"
#include "authority/openssl_handles.h"

namespace paravane::authority {
namespace {

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, Freer<EVP_CIPHER_CTX_free>>;

constexpr std::string_view kSealMark = "PVNSEAL1";
constexpr unsigned char kLogN = 16;
constexpr unsigned char kR = 8;
constexpr unsigned char kP = 1;
constexpr std::uint64_t kMostMemory = std::uint64_t{80} << 20;  // N = 2^16, r = 8: 64 MiB
constexpr std::size_t kSalt = 16;
constexpr std::size_t kNonce = 12;
constexpr std::size_t kTag = 16;
constexpr std::size_t kHead = kSealMark.size() + 3 + kSalt + kNonce;

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

// Wiped when it goes.
struct SecretKey {
  std::array<unsigned char, 32> bytes{};

  SecretKey() = default;
  SecretKey(const SecretKey&) = delete;
  SecretKey& operator=(const SecretKey&) = delete;
  ~SecretKey() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
};

bool make_key(std::string_view passphrase, std::string_view salt, SecretKey& key) {
  return EVP_PBE_scrypt(passphrase.data(), passphrase.size(), bytes(salt), salt.size(),
                        std::uint64_t{1} << kLogN, kR, kP, kMostMemory, key.bytes.data(),
                        key.bytes.size()) == 1;
}

std::string_view salt_of(std::string_view head) {
  return head.substr(kSealMark.size() + 3, kSalt);
}

std::string_view nonce_of(std::string_view head) {
  return head.substr(kHead - kNonce, kNonce);
}

std::unexpected<Error> no_sealed_text() {
  return fail(Errc::kInvalidArgument, "the data is not an encrypted backup, or is incomplete");
}

}  // namespace

Status check_passphrase(std::string_view passphrase) {
  if (passphrase.size() >= kMinPassphrase && passphrase.size() <= kMaxPassphrase) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("a passphrase must be {} to {} bytes long, but this one has {} bytes",
                          kMinPassphrase, kMaxPassphrase, passphrase.size()));
}

Result<std::string> seal(std::string_view text, std::string_view passphrase) {
  if (text.size() > kMaxSealedText) {
    return fail(Errc::kResourceExhausted,
                fmt::format("its size is {} bytes, but the limit is {} bytes", text.size(),
                            kMaxSealedText));
  }
  std::string sealed(kSealMark);
  for (const unsigned char part : {kLogN, kR, kP}) sealed.push_back(static_cast<char>(part));
  sealed.resize(kHead);
  if (RAND_bytes(bytes(sealed) + kSealMark.size() + 3, kSalt + kNonce) != 1) {
    return openssl_failed("generate random numbers");
  }
  SecretKey key;
  if (!make_key(passphrase, salt_of(sealed), key)) return openssl_failed("derive a key");
  sealed.resize(kHead + text.size() + kTag);
  const Cipher cipher(EVP_CIPHER_CTX_new());
  int size = 0;
  const bool done = EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.bytes.data(),
                                       bytes(nonce_of(sealed))) == 1 &&
                    EVP_EncryptUpdate(cipher.get(), nullptr, &size, bytes(sealed),
                                      static_cast<int>(kHead)) == 1 &&
                    EVP_EncryptUpdate(cipher.get(), bytes(sealed) + kHead, &size, bytes(text),
                                      static_cast<int>(text.size())) == 1 &&
                    EVP_EncryptFinal_ex(cipher.get(), bytes(sealed) + kHead + size, &size) == 1 &&
                    EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, static_cast<int>(kTag),
                                        bytes(sealed) + kHead + text.size()) == 1;
  if (!done) return openssl_failed("seal");
  return sealed;
}

Result<std::string> unseal(std::string_view sealed, std::string_view passphrase) {
  if (sealed.size() < kHead + kTag || sealed.size() > kHead + kMaxSealedText + kTag ||
      !sealed.starts_with(kSealMark)) {
    return no_sealed_text();
  }
  const std::string_view head = sealed.substr(0, kHead);
  const std::string_view cost = head.substr(kSealMark.size(), 3);
  if (cost[0] != static_cast<char>(kLogN) || cost[1] != static_cast<char>(kR) ||
      cost[2] != static_cast<char>(kP)) {
    return no_sealed_text();
  }
  SecretKey key;
  if (!make_key(passphrase, salt_of(head), key)) return openssl_failed("derive a key");
  const std::string_view body = sealed.substr(kHead, sealed.size() - kHead - kTag);
  std::string tag(sealed.substr(sealed.size() - kTag));
  std::string text(body.size(), '\0');
  const Cipher cipher(EVP_CIPHER_CTX_new());
  int size = 0;
  const bool good =
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.bytes.data(),
                         bytes(nonce_of(head))) == 1 &&
      EVP_DecryptUpdate(cipher.get(), nullptr, &size, bytes(head), static_cast<int>(kHead)) == 1 &&
      EVP_DecryptUpdate(cipher.get(), bytes(text), &size, bytes(body),
                        static_cast<int>(body.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(kTag), tag.data()) ==
          1 &&
      EVP_DecryptFinal_ex(cipher.get(), bytes(text) + size, &size) == 1;
  if (good) return text;
  OPENSSL_cleanse(text.data(), text.size());
  ERR_clear_error();
  return fail(Errc::kInvalidArgument, "the passphrase is wrong, or the file is damaged");
}

}  // namespace paravane::authority
