// How many 64 byte writes per second can one queue pair make, posted 32 at a
// time?
//
// Every request is signalled. The floors move the same cache lines between the
// same two cores: a request of two lines, a doorbell per batch, a copy of 64
// bytes, a completion of a line, and two lines that hold both indices of a ring,
// which both cores store to as the driver's rings demand; and do nothing else. One
// stores an index for each request, as the driver does; the other for each batch,
// which is the least that a ring can do.

#include <array>
#include <cstring>
#include <memory>

#include "bench/connection.h"
#include "bench/question.h"
#include "bench/shared_line.h"
#include "bench/stopwatch.h"

namespace paravane::bench {
namespace {

constexpr std::uint32_t kBatch = 32;
constexpr std::uint32_t kDepth = 128;  // requests outstanding
constexpr std::uint64_t kWrites = 200'000;
constexpr std::uint32_t kBytes = 64;
constexpr double kMega = 1e6;

struct alignas(64) Line {
  std::array<std::uint64_t, 8> words;
};

// Both indices of a ring lie in one line.
struct alignas(64) RingLine {
  std::atomic<std::uint64_t> tail{0};
  std::atomic<std::uint64_t> head{0};
};

// A queue pair's shared memory, stripped of all meaning.
struct Lines {
  std::array<std::array<Line, 2>, kDepth> requests;
  std::array<Line, 2 * kDepth> completions;
  std::array<Line, kDepth> from;
  std::array<Line, kDepth> to;
  RingLine sends;
  RingLine done;
  SharedLine doorbell;
};

// How often both sides of a floor store an index.
enum class Indices : std::uint8_t { kForEach, kForBatches };

// `last`: the request is the last of its batch.
void store(Indices how, std::atomic<std::uint64_t>& index, std::uint64_t value, bool last) {
  if (how == Indices::kForEach || last) index.store(value, std::memory_order_release);
}

bool ends_batch(std::uint64_t number) {
  return number % kBatch == 0;
}

void serve(Indices how, Lines& lines) {
  std::uint64_t done = 0;
  while (done < kWrites) {
    if (lines.doorbell.word.load(std::memory_order_relaxed) != 0) {
      lines.doorbell.word.exchange(0, std::memory_order_acq_rel);
    }
    const std::uint64_t there = lines.sends.tail.load(std::memory_order_acquire);
    for (; done < there; ++done) {
      const std::array<Line, 2> request = lines.requests[done % kDepth];
      lines.to[request[0].words[0] % kDepth] = lines.from[request[1].words[0] % kDepth];
      lines.completions[done % (2 * kDepth)] = request[0];
      store(how, lines.sends.head, done + 1, ends_batch(done + 1));
      store(how, lines.done.tail, done + 1, ends_batch(done + 1));
    }
  }
}

void ask(Indices how, Lines& lines) {
  std::uint64_t posted = 0;
  std::uint64_t taken = 0;
  while (taken < kWrites) {
    if (posted < kWrites && posted - taken <= kDepth - kBatch) {
      for (std::uint32_t i = 0; i < kBatch; ++i, ++posted) {
        std::array<Line, 2>& request = lines.requests[posted % kDepth];
        request[0].words.fill(posted);
        request[1].words.fill(posted);
        store(how, lines.sends.tail, posted + 1, ends_batch(posted + 1));
      }
      lines.doorbell.say(1);
    }
    const std::uint64_t there = lines.done.tail.load(std::memory_order_acquire);
    for (; taken < there; ++taken) {
      const Line completion = lines.completions[taken % (2 * kDepth)];
      demand(completion.words[7] == taken, "the floor lost a line");
      store(how, lines.done.head, taken + 1, ends_batch(taken + 1));
    }
  }
}

double move_lines(Indices how, Host& host) {
  const auto lines = std::make_unique<Lines>();
  double elapsed = 0;
  host.in_place_of_worker([&] { serve(how, *lines); },
                          [&] {
                            const Stopwatch watch;
                            ask(how, *lines);
                            elapsed = watch.seconds();
                          });
  return kWrites / elapsed / kMega;
}

double write(Connection& connection) {
  std::uint64_t posted = 0;
  std::uint64_t completed = 0;
  const Stopwatch watch;
  while (completed < kWrites) {
    if (posted < kWrites && posted - completed <= kDepth - kBatch) {
      for (std::uint32_t i = 0; i < kBatch; ++i, ++posted) {
        const std::uint64_t place = posted % kDepth * kBytes;
        connection.queue_write(0, place, place, kBytes);
      }
      connection.ring(0);
    }
    completed += connection.end(0).take_completions(kDepth);
  }
  return kWrites / watch.seconds() / kMega;
}

}  // namespace

Figures write_rate(const Settings& settings) {
  constexpr std::uint64_t kBuffer = std::uint64_t{kDepth} * kBytes;
  Host host(settings.cores);
  Connection connection(host, {.buffer_bytes = kBuffer, .send_requests = kDepth});
  connection.end(0).buffer->fill_pattern(64);
  connection.end(1).buffer->fill(std::byte{0});
  Figure each{.name = "write 64 B, batches of 32",
              .unit = "million/s",
              .floor_name = "the same cache lines between the same cores",
              .target = {Target::Of::kValue, Target::Sense::kAtLeast, 5}};
  Figure batches{.name = "write 64 B, batches of 32",
                 .unit = "million/s",
                 .floor_name = "the same cache lines, indices stored once per batch"};
  each.measure(
      settings.repetitions, [&] { return move_lines(Indices::kForEach, host); },
      [&] { return write(connection); });
  batches.measure(
      settings.repetitions, [&] { return move_lines(Indices::kForBatches, host); },
      [&] { return write(connection); });
  const bool arrived =
      std::memcmp(connection.end(0).buffer->at(0), connection.end(1).buffer->at(0), kBuffer) == 0;
  demand(arrived, "written bytes differ from their source");
  return {std::move(each), std::move(batches)};
}

}  // namespace paravane::bench
