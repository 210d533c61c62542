#include "keeper/connect_rules.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace paravane::keeper {
namespace {

constexpr int kConnected = 0;
constexpr int kNotRestricted = 255;

class ConnectRulesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_connect_rules()) GTEST_SKIP() << "this kernel's Landlock has no rules for the network";
  }

  struct Service {
    UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};

    Service() {
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      auto* generic = reinterpret_cast<sockaddr*>(&address);
      socklen_t size = sizeof address;
      EXPECT_EQ(::bind(socket.get(), generic, size), 0);
      EXPECT_EQ(::listen(socket.get(), 8), 0);
      EXPECT_EQ(::getsockname(socket.get(), generic, &size), 0);
    }
    std::uint16_t port() const { return ntohs(address.sin_port); }
  };

  // Ends the child with what became of it: kConnected or an errno.
  [[noreturn]] static void connect_from_inside(const Service& to, std::uint16_t only_port) {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0 || !connect_only_to(only_port)) {
      _exit(kNotRestricted);
    }
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto* generic = reinterpret_cast<const sockaddr*>(&to.address);
    _exit(::connect(socket.get(), generic, sizeof to.address) == 0 ? kConnected : errno);
  }

  Service wanted_;
  Service other_;
};

TEST_F(ConnectRulesTest, AllowsThePort) {
  EXPECT_EXIT(connect_from_inside(wanted_, wanted_.port()), testing::ExitedWithCode(kConnected),
              "");
}

TEST_F(ConnectRulesTest, RefusesEveryOther) {
  EXPECT_EXIT(connect_from_inside(other_, wanted_.port()), testing::ExitedWithCode(EACCES), "");
}

}  // namespace
}  // namespace paravane::keeper
