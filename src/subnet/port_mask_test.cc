#include "subnet/port_mask.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace paravane::subnet {
namespace {

TEST(PortMaskTest, HasThePortsThatWereAdded) {
  const std::initializer_list<PortNumber> added{0, 1, 63, 64, 127};
  PortMask mask{};
  for (const PortNumber port : added) {
    EXPECT_FALSE(has_port(mask, port)) << int{port};
    add_port(mask, port);
    EXPECT_TRUE(has_port(mask, port)) << int{port};
  }
  for (const PortNumber port : std::initializer_list<PortNumber>{2, 62, 65, 126})
    EXPECT_FALSE(has_port(mask, port)) << int{port};
  EXPECT_EQ(mask, (PortMask{0x8000'0000'0000'0003, 0x8000'0000'0000'0001}));
}

TEST(PortMaskTest, APortIsAddedOnce) {
  PortMask mask{};
  add_port(mask, 70);
  add_port(mask, 70);
  EXPECT_EQ(mask, (PortMask{0, 0x40}));
}

}  // namespace
}  // namespace paravane::subnet
