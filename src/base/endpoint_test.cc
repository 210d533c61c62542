#include "base/endpoint.h"

#include <gtest/gtest.h>

namespace paravane {
namespace {

TEST(Endpoint, IsAnAddressAndAPort) {
  for (const char* text : {"192.0.2.1:28250", "[2001:db8::1]:1", "127.0.0.1:65535"}) {
    const auto endpoint = Endpoint::parse(text);
    ASSERT_TRUE(endpoint) << text;
    EXPECT_EQ(endpoint->print(), text);
  }
}

TEST(Endpoint, IsNothingElse) {
  for (const char* text :
       {"", ":", "1", "192.0.2.1", "192.0.2.1:", "192.0.2.1:0", "192.0.2.1:65536", "192.0.2.1:1 ",
        "192.0.2.1:+1", "192.0.2:1", "0300.0.2.1:1", "[192.0.2.1]:1", "2001:db8::1:1",
        "[2001:db8::1]", "[fe80::1%lo]:1", "localhost:1", "192.0.2.1:1:1"}) {
    EXPECT_FALSE(Endpoint::parse(text)) << text;
  }
}

TEST(Endpoint, KnowsWhatIsOneHosts) {
  for (const char* text : {"192.0.2.1:1", "[2001:db8::1]:1", "127.0.0.1:1"}) {
    EXPECT_TRUE(Endpoint::parse(text)->is_unicast()) << text;
  }
  for (const char* text : {"0.0.0.0:1", "224.0.0.1:1", "255.255.255.255:1", "[::]:1", "[ff02::1]:1",
                           "[::ffff:192.0.2.1]:1", "[fe80::1]:1"}) {
    EXPECT_FALSE(Endpoint::parse(text)->is_unicast()) << text;
  }
  EXPECT_TRUE(Endpoint::parse("127.8.9.10:1")->is_loopback());
  EXPECT_TRUE(Endpoint::parse("[::1]:1")->is_loopback());
  EXPECT_FALSE(Endpoint::parse("128.0.0.1:1")->is_loopback());
}

}  // namespace
}  // namespace paravane
