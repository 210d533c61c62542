#include "authority/member_book.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace paravane::authority {
namespace {

const std::string kFirst(64, '1');
const std::string kSecond(64, '2');
const std::string kThird(64, '3');

TEST(MemberBook, AMemberIsItsKeyAndNotItsName) {
  MemberBook book;
  EXPECT_FALSE(book.is_member("h2", kFirst));
  book.admit("h2", kFirst);
  EXPECT_TRUE(book.is_member("h2", kFirst));
  EXPECT_FALSE(book.is_member("h2", kSecond));
  EXPECT_FALSE(book.is_member("h3", kFirst));
  EXPECT_FALSE(book.is_member("h2", ""));
}

TEST(MemberBook, WhoWasTakenOutStaysOutWhenTheNameIsUsedAgain) {
  MemberBook book;
  book.admit("h2", kFirst);
  book.renew("h2", kFirst, kSecond);
  book.remove("h2");
  EXPECT_FALSE(book.is_member("h2", kFirst));
  book.admit("h2", kThird);
  EXPECT_FALSE(book.is_member("h2", kFirst));
  EXPECT_FALSE(book.is_member("h2", kSecond));
  EXPECT_TRUE(book.is_member("h2", kThird));
}

TEST(MemberBook, ALostAnswerToARenewalLocksNobodyOut) {
  MemberBook book;
  book.admit("h2", kFirst);
  book.renew("h2", kFirst, kSecond);  // and the answer is lost
  EXPECT_TRUE(book.is_member("h2", kFirst));
  EXPECT_TRUE(book.is_member("h2", kSecond));
  book.renew("h2", kFirst, kThird);
  EXPECT_TRUE(book.is_member("h2", kFirst));
  EXPECT_FALSE(book.is_member("h2", kSecond)) << "nobody has ever had it";
  EXPECT_TRUE(book.is_member("h2", kThird));
  EXPECT_EQ(book.members().at("h2").joined, kFirst);
}

TEST(MemberBook, TheOldKeyEndsWithTheFirstUseOfTheNewOne) {
  MemberBook book;
  book.admit("h2", kFirst);
  book.renew("h2", kFirst, kSecond);
  EXPECT_FALSE(book.note_use("h2", kFirst));
  EXPECT_TRUE(book.note_use("h2", kSecond));
  EXPECT_FALSE(book.note_use("h2", kSecond)) << "no news";
  EXPECT_FALSE(book.is_member("h2", kFirst));
  EXPECT_TRUE(book.is_member("h2", kSecond));
  EXPECT_FALSE(book.note_use("h2", kThird)) << "it was not signed";
  EXPECT_FALSE(book.is_member("h2", kThird));
  book.renew("h2", kSecond, kThird);
  book.renew("h2", kThird, kFirst);  // asked for with the new one: that is its use
  EXPECT_FALSE(book.is_member("h2", kSecond));
  EXPECT_EQ(book.members().at("h2").joined, kFirst) << "the same machine as ever";
}

TEST(MemberBook, WhoJoinedBeforeKeysWereKeptIsKnownByItsNameUntilItsKeyIs) {
  auto book = MemberBook::parse_names(nlohmann::json::parse(R"(["h2","h3"])"));
  ASSERT_TRUE(book);
  EXPECT_TRUE(book->is_member("h2", kFirst));
  book->renew("h2", kFirst, kSecond);  // which any machine of that name could ask for
  EXPECT_TRUE(book->is_member("h2", kThird));
  EXPECT_TRUE(book->note_use("h2", kThird));
  EXPECT_TRUE(book->is_member("h2", kThird));
  EXPECT_FALSE(book->is_member("h2", kFirst));
  EXPECT_TRUE(book->is_member("h3", kFirst)) << "each for itself";
  EXPECT_FALSE(book->note_use("h4", kFirst)) << "which is no member";
}

TEST(MemberBook, IsTheSameAfterARestart) {
  MemberBook book;
  book.admit("h2", kFirst);
  book.renew("h2", kFirst, kSecond);
  book.admit("h3", kThird);
  book.admit_by_name("h4");
  const auto again = MemberBook::parse(book.print());
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, book);
}

TEST(MemberBook, ADamagedOneIsNone) {
  for (const std::string text :
       {R"({})", R"([1])", R"(["h2"])", R"([{"joined":"x"}])", R"([{"host":"h2","joined":"x"}])",
        R"([{"host":"h2","more":1}])", R"([{"host":"H2"}])"}) {
    EXPECT_FALSE(MemberBook::parse(nlohmann::json::parse(text))) << text;
  }
  for (const std::string text : {R"({})", R"([1])", R"(["H 2"])", R"(["h2",{"host":"h3"}])"}) {
    EXPECT_FALSE(MemberBook::parse_names(nlohmann::json::parse(text))) << text;
  }
  const nlohmann::json half = {{{"host", "h2"}, {"next", kFirst}}};
  EXPECT_FALSE(MemberBook::parse(half)) << "a successor of nobody";
}

}  // namespace
}  // namespace paravane::authority
