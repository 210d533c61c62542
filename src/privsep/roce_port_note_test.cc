#include "privsep/roce_port_note.h"

#include <gtest/gtest.h>

namespace paravane::privsep {
namespace {

TEST(RocePortNoteTest, IsReadAsItWasWritten) {
  for (const bool superframes : {true, false}) {
    const RocePortNote note{
        .adapter = {"db1", 2}, .making = 7, .mtu = 9000, .takes_superframes = superframes};
    const auto parsed = parse_roce_port_note(print(note));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, note);
  }
}

TEST(RocePortNoteTest, IsOfAServiceToo) {
  const RocePortNote note{.adapter = {"vmhba32", 0}, .making = 1, .mtu = 1500};
  const auto parsed = parse_roce_port_note(print(note));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, note);
}

TEST(RocePortNoteTest, AnythingElseIsRefused) {
  for (const char* text : {"",
                           "db1",
                           "db1 1",
                           "db1 1 7",
                           "db1 1 7 1500",
                           "db1 1 7 1500 ",
                           "db1 1 7 1500 superframe",
                           "db1 1 1500 packets",
                           "db1 1 7 1500 packets ",
                           "db1 0 7 1500 packets",
                           "vmhba31 0 7 1500 packets",
                           "db1 11 7 1500 packets",
                           "db1 x 7 1500 packets",
                           "db1 1 x 1500 packets",
                           "db1 1 -1 1500 packets",
                           "db1 1 7 70000 packets",
                           "db1 1 7 -1 packets",
                           "db1 1 7 1500x packets",
                           "db1 1 7  packets",
                           "db/1 1 7 1500 packets",
                           " 1 7 1500 packets",
                           "db1 1 7 superframes"}) {
    EXPECT_FALSE(parse_roce_port_note(text)) << text;
  }
}

}  // namespace
}  // namespace paravane::privsep
