#include "cluster/join_door.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "base/accept.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "cluster/clock.h"

namespace paravane::cluster {
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
  const auto complain = [&limit](const std::string& problem) {
    const auto kept_back = limit.allow(now());
    if (kept_back) log::warn("cluster: join endpoint: {}{}", problem, kept_back_note(*kept_back));
  };
  while (!closing_) {
    std::array<pollfd, 2> waits{pollfd{.fd = listener_.get(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0}};
    if (::poll(waits.data(), waits.size(), -1) < 0 || closing_) continue;
    const Result<std::optional<UniqueFd>> client = accept_client(listener_.get());
    if (!client) complain("cannot accept a connection: " + client.error().message);
    if (client && *client) {
      const Status served = serve_line(**client, server_, wake_.get());
      if (!served && !closing_) complain("a request failed: " + served.error().message);
    }
    std::this_thread::sleep_for(kBetweenTwo);
  }
}

}  // namespace paravane::cluster
