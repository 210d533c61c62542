#include "transport/channel/trunk_keys.h"

#include <gtest/gtest.h>

namespace paravane::transport_channel {
namespace {

wire::TrunkNonce nonce(unsigned char of) {
  wire::TrunkNonce made;
  made.fill(std::byte{of});
  return made;
}

Seal::Key key(unsigned char of) {
  Seal::Key made;
  made.fill(std::byte{of});
  return made;
}

// printf 'paravane trunk' and 32 bytes 01, 32 bytes 02 | openssl dgst -sha256 -mac HMAC
//   -macopt hexkey:09090909090909090909090909090909
TEST(TrunkKeys, AreTheHmacOfBothNonces) {
  const auto derived = derive_trunk_key(key(9), nonce(1), nonce(2));
  ASSERT_TRUE(derived);
  const Seal::Key expected{std::byte{0x0C}, std::byte{0xCE}, std::byte{0x72}, std::byte{0x7A},
                           std::byte{0xB7}, std::byte{0x71}, std::byte{0xE1}, std::byte{0x61},
                           std::byte{0x3F}, std::byte{0x20}, std::byte{0xB9}, std::byte{0xDF},
                           std::byte{0x85}, std::byte{0xF6}, std::byte{0x29}, std::byte{0x79}};
  EXPECT_EQ(*derived, expected);
}

TEST(TrunkKeys, DifferWithAllThatTheyAreMadeOf) {
  const auto derived = derive_trunk_key(key(9), nonce(1), nonce(2));
  ASSERT_TRUE(derived);
  EXPECT_NE(*derived, *derive_trunk_key(key(8), nonce(1), nonce(2)));
  EXPECT_NE(*derived, *derive_trunk_key(std::nullopt, nonce(1), nonce(2)));
  EXPECT_NE(*derived, *derive_trunk_key(key(9), nonce(3), nonce(2)));
  EXPECT_NE(*derived, *derive_trunk_key(key(9), nonce(1), nonce(3)));
  EXPECT_NE(*derived, *derive_trunk_key(key(9), nonce(2), nonce(1)));  // the other direction
}

}  // namespace
}  // namespace paravane::transport_channel
