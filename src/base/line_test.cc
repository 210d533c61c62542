#include "base/line.h"

#include <gtest/gtest.h>

namespace paravane {
namespace {

struct Guest {
  Line<Guest>::Place place;
};

TEST(Line, CallsInOrder) {
  Line<Guest> line;
  Guest a;
  Guest b;
  EXPECT_TRUE(line.empty());
  EXPECT_EQ(line.call(), nullptr);
  line.join(a, a.place);
  line.join(b, b.place);
  EXPECT_TRUE(a.place.taken());
  EXPECT_EQ(line.call(), &a);
  EXPECT_FALSE(a.place.taken());
  line.join(a, a.place);
  EXPECT_EQ(line.call(), &b);
  EXPECT_EQ(line.call(), &a);
  EXPECT_TRUE(line.empty());
}

TEST(Line, AnyoneCanLeave) {
  Line<Guest> line;
  Guest guests[4];
  for (Guest& guest : guests) line.join(guest, guest.place);
  line.leave(guests[1].place);
  line.leave(guests[1].place);  // nothing
  line.leave(guests[3].place);
  line.join(guests[1], guests[1].place);
  line.leave(guests[0].place);
  EXPECT_EQ(line.call(), &guests[2]);
  EXPECT_EQ(line.call(), &guests[1]);
  EXPECT_EQ(line.call(), nullptr);
  line.join(guests[0], guests[0].place);
  line.leave(guests[0].place);
  EXPECT_TRUE(line.empty());
}

}  // namespace
}  // namespace paravane
