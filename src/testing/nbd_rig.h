// NbdRig: a served disk in memory, stepped by hand, and programs that connect to it. Nothing of it
// is in the file system.
//
// Owner thread only.

#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <memory>
#include <utility>

#include "base/event_loop.h"
#include "base/turn_clock.h"
#include "base/unique_fd.h"
#include "nbd/server.h"
#include "testing/memory_disk.h"
#include "testing/nbd_program.h"

namespace paravane::fake {

class NbdRig {
 public:
  explicit NbdRig(MemoryDisk::Config config = {}) : disk(std::move(config)) {
    UniqueFd listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un name{};
    name.sun_family = AF_UNIX;  // the kernel finds a name that no file has
    ::bind(listening.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name.sun_family);
    ::listen(listening.get(), 16);
    listener_ = listening.get();
    static_cast<void>(server->open(std::move(listening)).has_value());
  }

  NbdProgram connect() {
    return {listener_, [this] { settle(); }};
  }

  // One round of an owner. False: nothing was to do.
  bool step() {
    const auto heard = loop->poll(Duration::zero());
    nbd::TurnBudget budget = turn;
    const bool worked = server && server->turn(clock.now, budget);
    return disk.run() || worked || (heard && *heard > 0);
  }
  // Until there is nothing to do. False: there is no end.
  bool settle() {
    for (int rounds = 0; rounds < kMostRounds; ++rounds) {
      if (!step()) return true;
    }
    return false;
  }
  void pass(Duration time) {
    clock.now += time;
    settle();
  }
  const nbd::ServerCounters& counters() const { return server->counters(); }

  static constexpr int kMostRounds = 100'000;

  MemoryDisk disk;
  TurnClock clock{Instant(std::chrono::hours(1))};
  std::unique_ptr<EventLoop> loop = std::move(EventLoop::create().value());
  nbd::TurnBudget turn{.bytes = std::int64_t{512} * 1024, .operations = 256};
  std::unique_ptr<nbd::Server> server =
      std::make_unique<nbd::Server>(disk, "a disk in memory", *loop, clock);

 private:
  int listener_ = -1;
};

}  // namespace paravane::fake
