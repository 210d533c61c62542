#include "daemon/heir_line.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "base/exit_status.h"
#include "host/host.h"
#include "privsep/estate_line.h"
#include "privsep/heir_facts.h"

namespace paravane::daemon {
namespace {

// The keeper ends an heir that waits for longer than it gives an upgrade.
constexpr auto kEstateLimit = std::chrono::seconds(30);

}  // namespace

Result<host::Inheritance> HeirLine::receive() {
  keeper_.send(
      {.kind = privsep::Note::Kind::kHeirReady, .text = privsep::print(host::own_facts())});
  privsep::EstateLine line(std::move(estate_));
  auto parcels = line.receive(std::chrono::steady_clock::now() + kEstateLimit);
  if (!parcels) return std::unexpected(parcels.error());
  gap_.first = line.first_at();
  gap_.all = std::chrono::steady_clock::now();
  for (const privsep::Parcel& parcel : *parcels) gap_.state_bytes += parcel.bytes();
  return host::sort_estate(std::move(*parcels));
}

Result<std::string> HeirLine::await_go() {
  gap_.taken = std::chrono::steady_clock::now();
  if (!keeper_.send({.kind = privsep::Note::Kind::kTaken, .text = {}})) {
    return fail(Errc::kIo, "the privileged process cannot be reached");
  }
  for (;;) {
    const auto received = keeper_.receive();
    if (!received) return std::unexpected(received.error());
    if (*received && (*received)->kind == privsep::Note::Kind::kGo) {
      gap_.go = std::chrono::steady_clock::now();
      return (*received)->text;
    }
    if (*received) continue;  // nothing else is for an heir
    pollfd ready{.fd = keeper_.fd(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, -1) < 0 && errno != EINTR)
      return fail_by_system(Errc::kIo, "poll", errno);
  }
}

void refuse_to_take_over(const privsep::ProcessLink& keeper, const std::string& cause) {
  keeper.send({.kind = privsep::Note::Kind::kCannot, .text = cause});
  ::_exit(static_cast<int>(ExitStatus::kFailed));
}

}  // namespace paravane::daemon
