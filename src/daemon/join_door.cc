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
  {
    const MutexLock lock(mutex_);
    if (at_door_ >= 0) ::shutdown(at_door_, SHUT_RDWR);
  }
  thread_.join();
}

void JoinDoor::set_at_door(int client) {
  const MutexLock lock(mutex_);
  at_door_ = client;
  if (closing_ && client >= 0) ::shutdown(client, SHUT_RDWR);
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
      set_at_door(client.get());
      const Status served = serve_line(client, server_);
      set_at_door(-1);
      if (!served && !closing_) {
        if (limit.allow(std::chrono::steady_clock::now())) {
          log::warn("cluster: somebody at the join door: {}", served.error().message);
        }
      }
    }
    std::this_thread::sleep_for(kBetweenTwo);
  }
}

}  // namespace paravane::daemon
