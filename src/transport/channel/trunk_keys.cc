#include "transport/channel/trunk_keys.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace paravane::transport_channel {
namespace {

constexpr std::string_view kLabel = "paravane trunk";
constexpr std::size_t kDigestBytes = 32;

}  // namespace

Result<Seal::Key> derive_trunk_key(const std::optional<Seal::Key>& key,
                                   const wire::TrunkNonce& sender,
                                   const wire::TrunkNonce& receiver) {
  const Seal::Key secret = key.value_or(Seal::Key{});
  std::array<unsigned char, kLabel.size() + 2 * wire::kTrunkNonceBytes> text{};
  std::memcpy(text.data(), kLabel.data(), kLabel.size());
  std::memcpy(text.data() + kLabel.size(), sender.data(), sender.size());
  std::memcpy(text.data() + kLabel.size() + sender.size(), receiver.data(), receiver.size());
  std::array<unsigned char, kDigestBytes> digest{};
  std::size_t bytes = 0;
  const auto* made =
      EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, secret.data(), secret.size(),
                text.data(), text.size(), digest.data(), digest.size(), &bytes);
  if (made == nullptr || bytes != digest.size()) {
    return fail(Errc::kIo, "HMAC-SHA256 is not to be had from OpenSSL");
  }
  Seal::Key derived;
  std::memcpy(derived.data(), digest.data(), derived.size());
  return derived;
}

}  // namespace paravane::transport_channel
