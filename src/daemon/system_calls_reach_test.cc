// Whoever has broken into the engine wants to reach an address that the keeper would not
// connect to. Each test is one way there, tried in a child that serves already.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <functional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "daemon/inside_filter_test.h"

namespace paravane::daemon {
namespace {

constexpr std::string_view kText = "hello";

struct Option {
  int level;
  int name;
};

template <typename Address>
const sockaddr* generic(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

UniqueFd stream() {
  return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

UniqueFd listener() {
  UniqueFd socket = stream();
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(socket.get(), generic(loopback), sizeof loopback), 0);
  EXPECT_EQ(::listen(socket.get(), 8), 0);
  return socket;
}

sockaddr_in address_of(int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
  return address;
}

class SystemCallsReach : public testing::Test {
 protected:
  // Whether `way` is refused, and nothing has come to the service.
  void expect_refused(const std::function<bool()>& way) {
    EXPECT_EXIT(answer_inside([&] {
                  if (!end_connecting()) _exit(kNoFilter);
                  const bool went = way();
                  pollfd comes{.fd = service_.get(), .events = POLLIN, .revents = 0};
                  return !went && ::poll(&comes, 1, 0) == 0;
                }),
                testing::ExitedWithCode(kTrue), "");
  }

  UniqueFd service_ = listener();  // of this host's, which is none of ours
  sockaddr_in target_ = address_of(service_.get());
  // What the keeper gives: a socket that listens. And what it does not: one that is free.
  UniqueFd given_ = listener();
  UniqueFd free_ = stream();
};

TEST_F(SystemCallsReach, ByConnect) {
  expect_refused([&] { return ::connect(free_.get(), generic(target_), sizeof target_) == 0; });
}

// A socket that listens becomes one that does not, and that one is connected as it sends.
TEST_F(SystemCallsReach, ByAListenerThatIsShutDown) {
  for (const int half : {SHUT_RD, SHUT_RDWR}) {
    expect_refused([&] { return ::shutdown(given_.get(), half) == 0; });
  }
}

TEST_F(SystemCallsReach, BySendingWithFastOpen) {
  expect_refused([&] {
    return ::sendto(free_.get(), kText.data(), kText.size(), MSG_FASTOPEN | MSG_NOSIGNAL,
                    generic(target_), sizeof target_) >= 0;
  });
}

TEST_F(SystemCallsReach, BySendingAMessageWithFastOpen) {
  std::string text(kText);
  iovec piece{.iov_base = text.data(), .iov_len = text.size()};
  mmsghdr messages{};
  msghdr& message = messages.msg_hdr;
  message.msg_name = &target_;
  message.msg_namelen = sizeof target_;
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  expect_refused([&] { return ::sendmsg(free_.get(), &message, MSG_FASTOPEN) >= 0; });
  expect_refused([&] { return ::sendmmsg(free_.get(), &messages, 1, MSG_FASTOPEN) >= 0; });
}

// The kernel looks at 32 bits of what a register holds.
TEST_F(SystemCallsReach, ByFlagsThatHideBehindOthers) {
  constexpr long kHigh = 1L << 40;
  expect_refused([&] {
    return ::syscall(SYS_sendto, free_.get(), kText.data(), kText.size(), kHigh | MSG_FASTOPEN,
                     &target_, sizeof target_) >= 0;
  });
  expect_refused([&] { return ::syscall(SYS_shutdown, given_.get(), kHigh | SHUT_RD) == 0; });
}

// Without a connection, as by UDP.
TEST_F(SystemCallsReach, ByADatagram) {
  const UniqueFd datagrams(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  expect_refused([&] {
    return ::sendto(datagrams.get(), kText.data(), kText.size(), 0, generic(target_),
                    sizeof target_) >= 0;
  });
}

TEST_F(SystemCallsReach, ByAnOptionThatConnectsOrChangesTheWay) {
  constexpr int kLsrr = 131;  // loose source route: packets go to its first address
  const std::string route{static_cast<char>(kLsrr), 7, 4, 127, 0, 0, 1, 0};
  const int one = 1;
  expect_refused([&] {
    bool set = ::setsockopt(free_.get(), IPPROTO_IP, IP_OPTIONS, route.data(),
                            static_cast<socklen_t>(route.size())) == 0;
    set |= ::setsockopt(free_.get(), IPPROTO_TCP, TCP_ULP, "tls", 3) == 0;
    set |= ::setsockopt(free_.get(), SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) == 0;
    for (const auto [level, name] :
         {Option{IPPROTO_TCP, TCP_FASTOPEN_CONNECT}, Option{IPPROTO_TCP, TCP_FASTOPEN},
          Option{IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE}, Option{IPPROTO_TCP, TCP_REPAIR},
          Option{IPPROTO_IP, IP_TRANSPARENT}, Option{IPPROTO_IP, IP_FREEBIND},
          Option{IPPROTO_IP, IP_UNICAST_IF}, Option{IPPROTO_IP, IP_MULTICAST_TTL},
          Option{SOL_SOCKET, SO_MARK}, Option{SOL_SOCKET, SO_REUSEPORT},
          Option{SOL_SOCKET, SO_BROADCAST}, Option{SOL_SOCKET, SO_DETACH_FILTER}}) {
      set |= ::setsockopt(free_.get(), level, name, &one, sizeof one) == 0;
    }
    return set;
  });
}

TEST_F(SystemCallsReach, ByASocketOfAnyOtherFamilyOrKind) {
  expect_refused([] {
    bool made = false;
    for (int family = 0; family < AF_MAX; ++family) {
      for (int type = 0; type <= SOCK_PACKET; ++type) {
        // Both reach nothing without connect().
        if (family == AF_UNIX && (type == SOCK_STREAM || type == SOCK_SEQPACKET)) continue;
        made |= ::socket(family, type, 0) >= 0;
      }
    }
    std::array<int, 2> pair{};
    // Its ends send datagrams to any socket of this host.
    return made || ::socketpair(AF_UNIX, SOCK_DGRAM, 0, pair.data()) == 0;
  });
}

// Of a socket of packets the kernel passes an address over, also of a pair's end (net/unix).
TEST_F(SystemCallsReach, ByAPacketWithAnAddress) {
  const UniqueFd door(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;  // the kernel chooses an abstract name
  ASSERT_EQ(::bind(door.get(), generic(address), sizeof address.sun_family), 0);
  ASSERT_EQ(::listen(door.get(), 1), 0);
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(door.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  expect_refused([&] {
    const auto send = [&](int socket) {
      char byte = 'x';
      iovec part{.iov_base = &byte, .iov_len = 1};
      msghdr message{};
      message.msg_name = &address;
      message.msg_namelen = size;
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      return ::sendmsg(socket, &message, MSG_NOSIGNAL) >= 0;
    };
    const int alone = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (::connect(alone, generic(address), size) == 0 || send(alone)) return true;
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair.data()) != 0) return true;
    send(pair[0]);
    char byte = 0;
    const bool is_with_us = ::recv(pair[1], &byte, 1, MSG_DONTWAIT) == 1;
    pollfd comes{.fd = door.get(), .events = POLLIN, .revents = 0};
    return !is_with_us || ::poll(&comes, 1, 0) != 0;
  });
}

TEST_F(SystemCallsReach, ByAnotherProcessesDescriptor) {
  expect_refused([] { return ::syscall(SYS_pidfd_open, ::getppid(), 0) >= 0; });
  expect_refused([] { return ::syscall(SYS_pidfd_getfd, 0, 0, 0) >= 0 || errno != ENOSYS; });
}

TEST_F(SystemCallsReach, ByARequestToTheNetworksDriver) {
  for (const unsigned long request :
       {0x8916UL /* SIOCSIFADDR */, 0x890BUL /* SIOCADDRT */,
        0x89E0UL /* SIOCPROTOPRIVATE, as SMC and others have */, 0x400454CAUL /* TUNSETIFF */}) {
    expect_refused([&] { return ::ioctl(free_.get(), request, nullptr) == 0 || errno != ENOSYS; });
  }
}

// Calls that carry others, which no filter sees.
TEST_F(SystemCallsReach, ByARingOfCalls) {
  for (const long call : {SYS_io_uring_enter, SYS_io_uring_register}) {
    expect_refused([&] { return ::syscall(call, 0, 0, 0, 0, 0, 0) >= 0 || errno != ENOSYS; });
  }
  EXPECT_EXIT(answer_inside([] { return ::syscall(SYS_io_uring_setup, 1, nullptr) < 0; }),
              testing::KilledBySignal(SIGSYS), "");
}

// Bytes that are moved from a file into a socket need no call of sockets. sendfile() is there, for
// answers to VMMs, and connects nothing.
TEST_F(SystemCallsReach, ByBytesThatTheKernelMoves) {
  const UniqueFd file(::memfd_create("bytes", MFD_CLOEXEC));
  ASSERT_EQ(::pwrite(file.get(), "x", 1, 0), 1);
  for (const int socket : {free_.get(), given_.get()}) {
    expect_refused([&] {
      std::signal(SIGPIPE, SIG_IGN);  // as paravaned does
      return ::syscall(SYS_sendfile, socket, file.get(), nullptr, 1) >= 0 ||
             ::syscall(SYS_splice, 0, nullptr, socket, nullptr, 1, 0) >= 0 || errno != ENOSYS;
    });
  }
}

// And what a channel, the door and etcd's client live on.
TEST_F(SystemCallsReach, AConnectionThatIsThereWorks) {
  ASSERT_EQ(::connect(free_.get(), generic(target_), sizeof target_), -1);
  constexpr int kPatience = 5000;  // the handshake is the kernel's, in its own time
  pollfd comes{.fd = service_.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&comes, 1, kPatience), 1);
  const UniqueFd peer(::accept4(service_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(peer);
  EXPECT_EXIT(answer_inside([&] {
                const int one = 1;
                bool good = end_connecting().has_value();
                for (const auto [level, name] :
                     {Option{SOL_SOCKET, SO_KEEPALIVE}, Option{IPPROTO_TCP, TCP_NODELAY},
                      Option{IPPROTO_TCP, TCP_KEEPIDLE}, Option{IPPROTO_TCP, TCP_KEEPINTVL},
                      Option{IPPROTO_TCP, TCP_KEEPCNT}, Option{IPPROTO_TCP, TCP_NOTSENT_LOWAT}}) {
                  good &= ::setsockopt(free_.get(), level, name, &one, sizeof one) == 0;
                }
                good &= ::send(free_.get(), kText.data(), kText.size(),
                               MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
                std::string text(kText);
                iovec piece{.iov_base = text.data(), .iov_len = text.size()};
                msghdr message{};
                message.msg_iov = &piece;
                message.msg_iovlen = 1;
                good &= ::sendmsg(free_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
                return good && ::shutdown(free_.get(), SHUT_WR) == 0;
              }),
              testing::ExitedWithCode(kTrue), "");
}

}  // namespace
}  // namespace paravane::daemon
