// What would it cost to encrypt what goes over RDMA adapters?
//
// A trunk copies what it sends from guest memory into a buffer that the adapter reads. The floor is
// that copy. Beside it: the copy and a digest without a key (CRC-32C), the copy and a seal
// (AES-128-GMAC, [channel] seal = "all"), and AES-128-GCM from the guest's memory straight into the
// buffer, which seals and encrypts. All of one message, over more memory than caches have.

#include <openssl/evp.h>

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "bench/question.h"
#include "bench/stopwatch.h"
#include "guestmem/payload_io.h"

namespace paravane::bench {
namespace {

constexpr std::size_t kMessage = std::size_t{64} * 1024;
constexpr std::size_t kMessages = 2048;  // 128 MiB
constexpr std::size_t kBuffers = 32;     // a trunk's

struct Free {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

class Sender {
 public:
  Sender() : from_(kMessage * kMessages, std::byte{5}), to_(kMessage * kBuffers, std::byte{6}) {
    const std::vector<unsigned char> key(16, 7);
    demand(EVP_EncryptInit_ex(context_.get(), EVP_aes_128_gcm(), nullptr, key.data(), nullptr) == 1,
           "there is no AES-GCM");
  }

  // Gigabytes of messages in a second.
  template <typename Act>
  double speed(Act act) {
    const Stopwatch watch;
    for (std::size_t i = 0; i < kMessages; ++i) {
      act(std::span(from_).subspan(i * kMessage, kMessage),
          std::span(to_).subspan(i % kBuffers * kMessage, kMessage));
      asm volatile("" ::"r"(to_.data()) : "memory");
    }
    return static_cast<double>(kMessages * kMessage) / 1e9 / watch.seconds();
  }
  void copy(std::span<const std::byte> from, std::span<std::byte> to) {
    std::memcpy(to.data(), from.data(), from.size());
  }
  void copy_and_digest(std::span<const std::byte> from, std::span<std::byte> to) {
    copy(from, to);
    digest_ = digest_bytes(to, digest_);
  }
  void copy_and_seal(std::span<const std::byte> from, std::span<std::byte> to) {
    copy(from, to);
    cipher(to, nullptr);
  }
  void encrypt(std::span<const std::byte> from, std::span<std::byte> to) {
    cipher(from, to.data());
  }

 private:
  // Without `to`, only the tag.
  void cipher(std::span<const std::byte> from, std::byte* to) {
    const auto* in = reinterpret_cast<const unsigned char*>(from.data());
    auto* out = reinterpret_cast<unsigned char*>(to);
    int bytes = 0;
    ++nonce_[0];
    const bool done =
        EVP_EncryptInit_ex(context_.get(), nullptr, nullptr, nullptr, nonce_) == 1 &&
        EVP_EncryptUpdate(context_.get(), out, &bytes, in, static_cast<int>(from.size())) == 1 &&
        EVP_EncryptFinal_ex(context_.get(), tag_, &bytes) == 1 &&
        EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_GCM_GET_TAG, sizeof tag_, tag_) == 1;
    demand(done, "AES-GCM failed");
  }

  std::vector<std::byte> from_;
  std::vector<std::byte> to_;
  std::unique_ptr<EVP_CIPHER_CTX, Free> context_{EVP_CIPHER_CTX_new()};
  unsigned char nonce_[12] = {};
  unsigned char tag_[16] = {};
  std::uint32_t digest_ = 0;
};

}  // namespace

Figures trunk_seals(const Settings& settings) {
  Sender sender;
  using Way = void (Sender::*)(std::span<const std::byte>, std::span<std::byte>);
  const auto figure = [&](const char* name, Way way) {
    Figure made{.name = name, .unit = "GB/s", .floor_name = "memcpy"};
    const auto speed_of = [&](Way act) {
      return sender.speed([&](auto from, auto to) { (sender.*act)(from, to); });
    };
    made.measure(
        settings.repetitions, [&] { return speed_of(&Sender::copy); },
        [&] { return speed_of(way); });
    return made;
  };
  return {figure("64 KiB copied, digest without a key", &Sender::copy_and_digest),
          figure("64 KiB copied and sealed", &Sender::copy_and_seal),
          figure("64 KiB encrypted and sealed", &Sender::encrypt)};
}

}  // namespace paravane::bench
