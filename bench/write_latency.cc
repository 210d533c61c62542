// How long do 8 bytes take to a peer's memory and back, with the worker
// spinning?
//
// As ib_write_lat does it: an end posts an RDMA WRITE and the other end polls the
// last byte of its buffer, then answers in kind; completions are taken when the
// peer has been seen. Both ends run on one thread, so a round trip is four hops
// between the two cores:
//
//   guest -> worker   a post of end 0 is seen
//   worker -> guest   end 1 sees the bytes
//   guest -> worker   a post of end 1 is seen
//   worker -> guest   end 0 sees the bytes
//
// The floor makes these four hops with one cache line each and nothing else. A
// post touches more lines than one (doorbell, producer index, request, payload),
// and the second floor moves all of those too. The third figure is the round trip
// that all but one in a thousand are faster than.

#include <algorithm>
#include <numeric>
#include <vector>

#include "bench/connection.h"
#include "bench/question.h"
#include "bench/shared_line.h"
#include "bench/stopwatch.h"

namespace paravane::bench {
namespace {

constexpr std::uint64_t kRounds = 20'000;
constexpr std::uint32_t kBytes = 8;
// What an end sends, and where it receives.
constexpr std::uint64_t kOut = 0;
constexpr std::uint64_t kIn = 2048;

// How long each round took, in microseconds.
using Rounds = std::vector<double>;

double mean(const Rounds& rounds) {
  return std::accumulate(rounds.begin(), rounds.end(), 0.0) / static_cast<double>(rounds.size());
}
double slow_one(Rounds rounds) {
  const auto place = rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() * 999 / 1000);
  std::ranges::nth_element(rounds, place);
  return *place;
}

// Bare hops: the worker's core repeats what it hears.
Rounds hops_of_one_line(Host& host) {
  SharedLine there;
  SharedLine back;
  Rounds rounds;
  rounds.reserve(kRounds);
  host.in_place_of_worker(
      [&] {
        for (std::uint64_t i = 1; i <= 2 * kRounds; ++i) {
          there.await(i);
          back.say(i);
        }
      },
      [&] {
        Stopwatch watch;
        for (std::uint64_t i = 1; i <= 2 * kRounds; ++i) {
          there.say(i);
          back.await(i);
          if (i % 2 == 0) rounds.push_back(watch.lap_microseconds());
        }
      });
  return rounds;
}

// The lines of one post and of what it causes.
struct Post {
  SharedLine payload;
  SharedLine request[2];
  SharedLine index;
  SharedLine doorbell;
};
struct Outcome {
  SharedLine payload;
  SharedLine consumed;
  SharedLine completion;
  SharedLine completion_index;
};

void post(Post& to, std::uint64_t i) {
  to.payload.say(i);
  for (SharedLine& line : to.request) line.say(i);
  to.index.say(i);
  to.doorbell.say(i);
}

void serve(Post& from, Outcome& to, std::uint64_t i) {
  from.doorbell.await(i);
  from.doorbell.say(0);  // taken, as the worker takes it
  from.index.await(i);
  for (SharedLine& line : from.request) line.await(i);
  to.payload.say(from.payload.hear());
  to.consumed.say(i);
  to.completion.say(i);
  to.completion_index.say(i);
}

double hops_of_all_lines(Host& host) {
  Post posts[2];
  Outcome outcomes[2];
  double elapsed = 0;
  host.in_place_of_worker(
      [&] {
        for (std::uint64_t i = 1; i <= kRounds; ++i) {
          for (unsigned end = 0; end < 2; ++end) serve(posts[end], outcomes[end], i);
        }
      },
      [&] {
        const Stopwatch watch;
        for (std::uint64_t i = 1; i <= kRounds; ++i) {
          for (unsigned end = 0; end < 2; ++end) {
            post(posts[end], i);
            outcomes[end].payload.await(i);
            outcomes[end].completion_index.await(i);
            outcomes[end].completion.await(i);
          }
        }
        elapsed = watch.microseconds();
      });
  return elapsed / kRounds;
}

class PingPong {
 public:
  explicit PingPong(Host& host) : connection_(host, {}) {
    for (unsigned i = 0; i < 2; ++i) {
      out_[i] = word(i, kOut);
      in_[i] = word(i, kIn);
    }
  }

  Rounds measure() {
    Rounds rounds;
    rounds.reserve(kRounds);
    Stopwatch watch;
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      ++value_;
      go(0);
      if (i > 0) connection_.end(1).await_completion();
      arrive(1);
      go(1);
      connection_.end(0).await_completion();
      arrive(0);
      rounds.push_back(watch.lap_microseconds());
    }
    connection_.end(1).await_completion();
    return rounds;
  }

 private:
  std::uint64_t* word(unsigned end, std::uint64_t offset) {
    return reinterpret_cast<std::uint64_t*>(connection_.end(end).buffer->at(offset));
  }
  void go(unsigned end) {
    std::atomic_ref(*out_[end]).store(value_, std::memory_order_release);
    connection_.queue_write(end, kOut, kIn, kBytes);
    connection_.ring(end);
  }
  // The value is that of this round: it came from the peer, whole.
  void arrive(unsigned end) {
    while (std::atomic_ref(*in_[end]).load(std::memory_order_acquire) != value_) {
    }
  }

  Connection connection_;
  std::uint64_t* out_[2];
  std::uint64_t* in_[2];
  std::uint64_t value_ = 0;
};

}  // namespace

Figures write_latency(const Settings& settings) {
  Host host(settings.cores);
  PingPong ping_pong(host);
  Figure bare{.name = "write 8 B, there and back",
              .unit = "us",
              .floor_name = "the same four hops, one cache line each",
              .target = {Target::Of::kRatio, Target::Sense::kAtMost, 2.5}};
  Figure whole{
      .name = "write 8 B, there and back",
      .unit = "us",
      .floor_name = "the same four hops with all cache lines of a post and its completion"};
  bare.measure(
      settings.repetitions, [&] { return mean(hops_of_one_line(host)); },
      [&] { return mean(ping_pong.measure()); });
  whole.measure(
      settings.repetitions, [&] { return hops_of_all_lines(host); },
      [&] { return mean(ping_pong.measure()); });
  Figure slow{.name = "write 8 B, there and back, p99.9",
              .unit = "us",
              .floor_name = "p99.9 of the same four hops, one cache line each"};
  slow.measure(
      settings.repetitions, [&] { return slow_one(hops_of_one_line(host)); },
      [&] { return slow_one(ping_pong.measure()); });
  return {std::move(bare), std::move(whole), std::move(slow)};
}

}  // namespace paravane::bench
