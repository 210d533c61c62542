#include "authority/sealed_text.h"

#include <gtest/gtest.h>

#include <string>

namespace paravane::authority {
namespace {

constexpr std::string_view kPassphrase = "correct horse battery staple";

TEST(SealedText, OpensWithItsPassphraseAlone) {
  const auto sealed = seal("the authority's key", kPassphrase);
  ASSERT_TRUE(sealed.has_value());
  EXPECT_EQ(sealed->find("authority"), std::string::npos);
  EXPECT_EQ(unseal(*sealed, kPassphrase).value_or(""), "the authority's key");
  const auto wrong = unseal(*sealed, "correct horse battery stapler");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, Errc::kInvalidArgument);
}

TEST(SealedText, NoTwoAreTheSame) {
  EXPECT_NE(seal("text", kPassphrase).value_or("a"), seal("text", kPassphrase).value_or("a"));
}

TEST(SealedText, EachChangedByteIsSeen) {
  const auto sealed = seal("text", kPassphrase);
  ASSERT_TRUE(sealed.has_value());
  for (std::size_t i = 0; i < sealed->size(); i += 3) {
    std::string damaged = *sealed;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(unseal(damaged, kPassphrase).has_value()) << i;
  }
}

TEST(SealedText, ACutOneIsRefused) {
  const auto sealed = seal("text", kPassphrase);
  ASSERT_TRUE(sealed.has_value());
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{8}, std::size_t{39}, std::size_t{55}, sealed->size() - 1}) {
    EXPECT_FALSE(unseal(sealed->substr(0, size), kPassphrase).has_value()) << size;
  }
}

TEST(SealedText, SaysNotHowMuchMemoryItTakes) {
  auto sealed = seal("text", kPassphrase);
  ASSERT_TRUE(sealed.has_value());
  (*sealed)[8] = 30;  // 1 TiB
  const auto refused = unseal(*sealed, kPassphrase);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "the data is not an encrypted backup, or is incomplete");
}

TEST(SealedText, TooMuchIsRefused) {
  const auto refused = seal(std::string(kMaxSealedText + 1, 'x'), kPassphrase);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::kResourceExhausted);
}

TEST(SealedText, AShortPassphraseIsNone) {
  EXPECT_FALSE(check_passphrase("1234567").has_value());
  EXPECT_TRUE(check_passphrase("12345678").has_value());
  EXPECT_FALSE(check_passphrase(std::string(kMaxPassphrase + 1, 'x')).has_value());
}

}  // namespace
}  // namespace paravane::authority
