// Serves a disk in memory over NBD, as a VM's disk is served, so that other programs judge the
// server: tests/nbd.
//
// Usage: paravane_nbd_disk SOCKET [WORD=VALUE]...
//   size=BYTES      of the disk (64 MiB)
//   block=BYTES     of a block (512)
//   most=BYTES      of a request with payload (1 MiB)
//   buffers=NUMBER  of so many bytes each (32)
//   with=WORDS      of cache,trim,zeroes,fast,rotational,readonly, joined by commas
//   (cache,trim,zeroes,fast) fail=NUMBER     each request fails, by a BlockResult
// Prints its counters when it is told to end by SIGTERM.

#include "testing/memory_disk.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/event_loop.h"
#include "base/turn_clock.h"
#include "base/unique_fd.h"
#include "base/unix_listener.h"
#include "nbd/server.h"

namespace paravane::fake {
namespace {

constexpr nbd::TurnBudget kTurn{.bytes = std::int64_t{512} * 1024, .operations = 256};

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "paravane_nbd_disk: %s\n", why.c_str());
  std::exit(EXIT_FAILURE);
}

struct Wishes {
  MemoryDisk::Config disk{};
  nbd::BlockResult result = nbd::BlockResult::kDone;
};

void take_words(std::string_view words, nbd::Geometry& geometry) {
  const auto has = [words](std::string_view word) {
    return ("," + std::string(words) + ",").contains("," + std::string(word) + ",");
  };
  geometry.has_write_cache = has("cache");
  geometry.can_trim = has("trim");
  geometry.can_write_zeroes = has("zeroes");
  geometry.are_zeroes_fast = has("fast");
  geometry.is_rotational = has("rotational");
  geometry.is_read_only = has("readonly");
}

Wishes wishes_of(std::span<char*> words) {
  Wishes wishes;
  wishes.disk.buffers = 32;
  nbd::Geometry& geometry = wishes.disk.geometry;
  geometry.bytes = std::uint64_t{64} << 20;
  geometry.most_bytes = std::uint32_t{1} << 20;
  for (char* const one : words) {
    const std::string_view word = one;
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) give_up("no value: " + std::string(word));
    const std::string_view name = word.substr(0, equals);
    const std::string value(word.substr(equals + 1));
    const std::uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
    if (name == "size") {
      geometry.bytes = number;
    } else if (name == "block") {
      geometry.block_bytes = static_cast<std::uint32_t>(number);
    } else if (name == "most") {
      geometry.most_bytes = static_cast<std::uint32_t>(number);
    } else if (name == "buffers") {
      wishes.disk.buffers = number;
    } else if (name == "with") {
      take_words(value, geometry);
    } else if (name == "fail") {
      wishes.result = static_cast<nbd::BlockResult>(number);
    } else {
      give_up("unknown: " + std::string(word));
    }
  }
  return wishes;
}

UniqueFd end_signals() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  return UniqueFd(::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
}

void serve(const char* path, const Wishes& wishes) {
  auto loop = EventLoop::create();
  if (!loop) give_up(loop.error().message);
  MemoryDisk disk(wishes.disk);
  disk.fail_with(wishes.result);
  TurnClock clock{std::chrono::steady_clock::now()};
  nbd::Server server(disk, "a disk in memory", **loop, clock);
  auto listener = listen_at(path, SOCK_STREAM, {});
  if (!listener) give_up(listener.error().message);
  if (const Status opened = server.open(std::move(*listener)); !opened)
    give_up(opened.error().message);
  const UniqueFd ends = end_signals();
  bool is_over = false;
  if (!(*loop)->watch(ends.get(), 1, [&is_over](std::uint32_t) { is_over = true; }))
    give_up("no signals");
  std::printf("ready\n");
  std::fflush(stdout);
  while (!is_over) {
    std::optional<Duration> patience;
    const Instant next = server.next_look();
    if (server.has_work() || disk.under_way() > 0) {
      patience = Duration::zero();
    } else if (next != kNever) {
      patience = std::max(next - std::chrono::steady_clock::now(), Duration::zero());
    }
    if (!(*loop)->poll(patience)) give_up("the event loop failed");
    clock.now = std::chrono::steady_clock::now();
    nbd::TurnBudget budget = kTurn;
    server.turn(clock.now, budget);
    disk.run();
  }
  for (const Counter* one : server.counters().set.all())
    std::printf("%s %llu\n", std::string(one->name()).c_str(),
                static_cast<unsigned long long>(one->value()));
}

}  // namespace
}  // namespace paravane::fake

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: paravane_nbd_disk SOCKET [WORD=VALUE]...\n");
    return 2;
  }
  const std::span words(argv, static_cast<std::size_t>(argc));
  paravane::fake::serve(words[1], paravane::fake::wishes_of(words.subspan(2)));
  return 0;
}
