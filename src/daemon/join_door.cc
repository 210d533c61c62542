#include "daemon/join_door.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/log_limit.h"

namespace paravane::daemon {
namespace {

constexpr auto kBetweenTwo = std::chrono::milliseconds(50);

}  // namespace

JoinDoor::JoinDoor(UniqueFd listener, TlsServer server)
    : listener_(std::move(listener)),
      server_(std::move(server)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { keep(); }) {}

JoinDoor::~JoinDoor() {
  closing_ = true;
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
}

void JoinDoor::keep() {
  pthread_setname_np(pthread_self(), "join-door");
  LogLimit limit;
  while (!closing_) {
    std::array<pollfd, 2> waits{pollfd{.fd = listener_.get(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
    if (::poll(waits.data(), waits.size(), -1) < 0 || closing_) continue;
    const UniqueFd client(
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client) {
      if (const Status served = serve_line(client, server_); !served) {
        if (limit.allow(std::chrono::steady_clock::now())) {
          log::warn("cluster: somebody at the join door: {}", served.error().message);
        }
      }
    }
    std::this_thread::sleep_for(kBetweenTwo);
  }
}

}  // namespace paravane::daemon
