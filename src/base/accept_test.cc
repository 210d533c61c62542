#include "base/accept.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "testing/no_more_descriptors.h"

namespace paravane {
namespace {

class AcceptTest : public testing::Test {
 protected:
  AcceptTest() : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const sockaddr_un any{.sun_family = AF_UNIX, .sun_path = {}};  // the kernel names it
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(sa_family_t)),
              0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
  }

  UniqueFd knock() const {
    sockaddr_un name{};
    socklen_t size = sizeof name;
    EXPECT_EQ(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&name), &size), 0);
    UniqueFd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&name), size), 0);
    return client;
  }

  UniqueFd listener_;
};

TEST_F(AcceptTest, ReturnsAClientThatDoesNotBlock) {
  const UniqueFd client = knock();
  const auto taken = accept_client(listener_.get());
  ASSERT_TRUE(taken && *taken);
  EXPECT_NE(::fcntl((*taken)->get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(AcceptTest, ReturnsNoClientWhenNoneWaits) {
  const auto taken = accept_client(listener_.get());
  ASSERT_TRUE(taken);
  EXPECT_FALSE(*taken);
}

TEST_F(AcceptTest, LeavesTheClientWaitingWithoutADescriptorForIt) {
  const UniqueFd client = knock();
  Errc without = Errc::kIo;
  {
    const NoMoreDescriptors none;
    without = accept_client(listener_.get()).error().code;
  }
  EXPECT_EQ(without, Errc::kResourceExhausted);
  EXPECT_TRUE(accept_client(listener_.get())->has_value());
}

TEST_F(AcceptTest, RefusesASocketThatDoesNotListen) {
  const UniqueFd idle(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(accept_client(idle.get()).error().code, Errc::kIo);
}

}  // namespace
}  // namespace paravane
