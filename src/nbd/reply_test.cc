#include "nbd/reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "testing/nbd_program.h"

namespace paravane::nbd {
namespace {

using fake::Bytes;
using fake::operator+;
using fake::joined;

Bytes written(const Reply& reply, bool is_structured) {
  std::array<std::byte, kMostReplyHeader> room{};
  const std::size_t bytes = write_reply(reply, is_structured, room);
  return {room.begin(), room.begin() + static_cast<std::ptrdiff_t>(bytes)};
}

TEST(ReplyTest, ASimpleReplyHasNoMoreThanItsError) {
  EXPECT_EQ(written({.handle = 7, .payload_bytes = 512}, false),
            joined(Be32(0x67446698), Be32(0), Be64(7)));
  EXPECT_EQ(written({.handle = 7, .error = ReplyError::kNoSpace, .message = "full"}, false),
            joined(Be32(0x67446698), Be32(28), Be64(7)));
}

TEST(ReplyTest, AStructuredReplyIsOneChunk) {
  EXPECT_EQ(written({.handle = 7}, true),
            joined(Be32(0x668e33ef), Be16(1), Be16(0), Be64(7), Be32(0)));
  EXPECT_EQ(written({.handle = 7, .offset = 4096, .payload_bytes = 512}, true),
            joined(Be32(0x668e33ef), Be16(1), Be16(1), Be64(7), Be32(520), Be64(4096)));
  EXPECT_EQ(written({.handle = 7, .error = ReplyError::kIo, .message = "no"}, true),
            joined(Be32(0x668e33ef), Be16(1), Be16(0x8001), Be64(7), Be32(8), Be32(5), Be16(2)) +
                fake::bytes_of_text("no"));
}

TEST(ReplyTest, AMessageHasABound) {
  const std::string text(1000, 'x');
  const Bytes bytes = written({.error = ReplyError::kIo, .message = text}, true);
  EXPECT_EQ(bytes.size(), kMostReplyHeader);
}

}  // namespace
}  // namespace paravane::nbd
