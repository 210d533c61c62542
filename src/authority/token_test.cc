#include "authority/token.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace paravane::authority {
namespace {

const Seconds kToday{std::chrono::seconds(1'800'000'000)};
constexpr std::chrono::minutes kValid{15};

const Token kToken{.door = "192.0.2.1:28249",
                   .fingerprint = std::string(64, 'a'),
                   .keeper = {"00112233445566778899aabbccddeeff", "h1"},
                   .id = std::string(16, 'b'),
                   .secret = std::string(64, 'c')};

TEST(Token, IsOneWord) {
  const std::string text = print_token(kToken);
  EXPECT_EQ(text.find_first_of(" +/=\n"), std::string::npos);
  const auto token = parse_token("\n " + text + "\n");
  ASSERT_TRUE(token);
  EXPECT_EQ(token->door, kToken.door);
  EXPECT_EQ(token->keeper, kToken.keeper);
  EXPECT_EQ(token->secret, kToken.secret);
}

TEST(Token, HalfOfOneIsNone) {
  const std::string text = print_token(kToken);
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(parse_token(text.substr(0, length))) << length;
  }
  EXPECT_FALSE(parse_token(text + "A"));
  EXPECT_FALSE(parse_token("pvt2" + text.substr(4)));
  Token odd = kToken;
  odd.keeper.host = "../x";
  EXPECT_FALSE(parse_token(print_token(odd)));
}

TEST(TokenBook, LetsOneHostInOnce) {
  TokenBook book;
  const auto made = book.make("h2", kToday + kValid, kToday);
  ASSERT_TRUE(made);
  EXPECT_EQ(book.check(made->id, made->secret, kToday), "h2");
  book.burn(made->id);
  EXPECT_FALSE(book.check(made->id, made->secret, kToday));
}

TEST(TokenBook, AnExpiredOneIsNoGood) {
  TokenBook book;
  const auto made = book.make("h2", kToday + kValid, kToday);
  EXPECT_TRUE(book.check(made->id, made->secret, kToday + kValid - std::chrono::seconds(1)));
  EXPECT_FALSE(book.check(made->id, made->secret, kToday + kValid));
}

TEST(TokenBook, AWrongSecretIsNoGoodAndGuessingEndsIt) {
  TokenBook book;
  const auto made = book.make("h2", kToday + kValid, kToday);
  EXPECT_FALSE(book.check("0000000000000000", made->secret, kToday));
  for (unsigned i = 0; i + 1 < TokenBook::kMaxWrong; ++i)
    EXPECT_FALSE(book.check(made->id, "x", kToday));
  EXPECT_TRUE(book.check(made->id, made->secret, kToday));
  EXPECT_FALSE(book.check(made->id, "x", kToday));
  EXPECT_FALSE(book.check(made->id, made->secret, kToday));
}

TEST(TokenBook, ANewOneForAHostEndsTheOld) {
  TokenBook book;
  const auto old = book.make("h2", kToday + kValid, kToday);
  const auto fresh = book.make("h2", kToday + kValid, kToday);
  EXPECT_FALSE(book.check(old->id, old->secret, kToday));
  EXPECT_TRUE(book.check(fresh->id, fresh->secret, kToday));
}

TEST(TokenBook, IsBounded) {
  TokenBook book;
  for (std::size_t i = 0; i < TokenBook::kMost; ++i) {
    ASSERT_TRUE(book.make("h" + std::to_string(i), kToday + kValid, kToday));
  }
  EXPECT_FALSE(book.make("more", kToday + kValid, kToday));
  EXPECT_TRUE(book.make("more", kToday + 3 * kValid, kToday + 2 * kValid));
}

TEST(TokenBook, IsKeptWithoutSecrets) {
  TokenBook book;
  const auto made = book.make("h2", kToday + kValid, kToday);
  const auto text = book.print().dump();
  EXPECT_EQ(text.find(made->secret), std::string::npos);
  auto again = TokenBook::parse(nlohmann::json::parse(text));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->check(made->id, made->secret, kToday), "h2");
  for (const char* odd : {"{}", "[7]", "[{}]", R"([{"id":"x","host":"h","hash":"x","until":1}])"}) {
    EXPECT_FALSE(TokenBook::parse(nlohmann::json::parse(odd))) << odd;
  }
}

}  // namespace
}  // namespace paravane::authority
