#include "state/descriptors.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

namespace paravane::state {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Tag kOneFd{1};
constexpr Tag kFds{2};

class DescriptorsTest : public testing::Test {
 protected:
  static UniqueFd something() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
  static Descriptors received(int count) {
    std::vector<UniqueFd> all;
    for (int i = 0; i < count; ++i) all.push_back(something());
    return Descriptors(std::move(all));
  }
  Reader reader() {
    bytes_ = out_.take();
    loading_ = {};
    return Reader(bytes_, loading_);
  }
  std::string why() const { return loading_.good() ? "" : loading_.status().error().message; }

  Writer out_;
  std::vector<std::byte> bytes_;
  Loading loading_;
};

TEST_F(DescriptorsTest, EachIsGivenAwayAsItWasSaved) {
  const UniqueFd first = something();
  const UniqueFd second = something();
  Descriptors saved;
  saved.save(out_, kOneFd, second.get());
  saved.save(out_, kFds, first.get());
  saved.save(out_, kFds, second.get());
  EXPECT_THAT(saved.borrowed(), ElementsAre(second.get(), first.get(), second.get()));

  std::vector<UniqueFd> sent;
  std::vector<int> numbers;
  for (int i = 0; i < 3; ++i) numbers.push_back(sent.emplace_back(something()).get());
  Descriptors descriptors(std::move(sent));
  Reader in = reader();
  const UniqueFd one = descriptors.load(in, kOneFd);
  EXPECT_EQ(one.get(), numbers[0]);
  std::vector<UniqueFd> list;
  while (UniqueFd next = descriptors.load_if(in, kFds)) list.push_back(std::move(next));
  in.end();
  EXPECT_EQ(why(), "");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].get(), numbers[1]);
  EXPECT_EQ(list[1].get(), numbers[2]);
}

TEST_F(DescriptorsTest, OneThatIsNotNamedIsClosed) {
  int left = -1;
  {
    std::vector<UniqueFd> sent;
    left = sent.emplace_back(something()).get();
    const Descriptors descriptors(std::move(sent));
    EXPECT_GE(::fcntl(left, F_GETFD), 0);
  }
  EXPECT_LT(::fcntl(left, F_GETFD), 0);
}

TEST_F(DescriptorsTest, OneThatDidNotComeIsRefused) {
  out_.number(kOneFd, 2);
  Descriptors descriptors = received(2);
  Reader in = reader();
  EXPECT_FALSE(descriptors.load(in, kOneFd));
  EXPECT_THAT(why(), HasSubstr("a descriptor is missing"));
}

TEST_F(DescriptorsTest, OneThatIsNamedTwiceIsRefused) {
  out_.number(kFds, 1);
  out_.number(kFds, 1);
  Descriptors descriptors = received(2);
  Reader in = reader();
  EXPECT_TRUE(descriptors.load_if(in, kFds));
  EXPECT_FALSE(descriptors.load_if(in, kFds));
  EXPECT_THAT(why(), HasSubstr("named twice"));
}

TEST_F(DescriptorsTest, AnImpossibleNumberIsRefused) {
  out_.number(kOneFd, UINT64_MAX);
  Descriptors descriptors = received(1);
  Reader in = reader();
  EXPECT_FALSE(descriptors.load(in, kOneFd));
  EXPECT_THAT(why(), HasSubstr("1: "));
}

TEST_F(DescriptorsTest, OneThatMustBeThereIsMissed) {
  Descriptors descriptors = received(1);
  Reader in = reader();
  EXPECT_FALSE(descriptors.load_if(in, kOneFd));
  EXPECT_EQ(why(), "");
  EXPECT_FALSE(descriptors.load(in, kOneFd));
  EXPECT_THAT(why(), HasSubstr("1: is missing"));
}

// A state that is refused already says nothing.
TEST_F(DescriptorsTest, NothingIsGivenToAStateThatIsRefused) {
  out_.number(kOneFd, 0);
  Descriptors descriptors = received(1);
  Reader in = reader();
  in.refuse("it is wrong");
  EXPECT_FALSE(descriptors.load(in, kOneFd));
  EXPECT_THAT(why(), HasSubstr("it is wrong"));
}

TEST_F(DescriptorsTest, TooManyAreClosed) {
  out_.number(kOneFd, Descriptors::kMost - 1);
  std::vector<UniqueFd> sent(Descriptors::kMost - 1);
  sent.push_back(something());
  const int last = sent.back().get();
  const int above = sent.emplace_back(something()).get();
  Descriptors descriptors(std::move(sent));
  EXPECT_LT(::fcntl(above, F_GETFD), 0);
  Reader in = reader();
  EXPECT_EQ(descriptors.load(in, kOneFd).get(), last);
}

}  // namespace
}  // namespace paravane::state
