// How much of memcpy's speed do long writes of one queue pair reach?
//
// As ib_write_bw does it: requests are posted one by one, many outstanding, from
// one buffer to the peer's. The floor is memcpy between the same two buffers, on
// the worker's core, as often. Two working sets: one message, which fits in the
// nearer caches and leaves the worker the least time for anything but copying;
// and a window of 16 MiB that all messages walk through.

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "bench/connection.h"
#include "bench/question.h"
#include "bench/stopwatch.h"

namespace paravane::bench {
namespace {

constexpr std::uint32_t kOutstanding = 64;
constexpr std::uint64_t kTotal = std::uint64_t{512} << 20;  // bytes per measurement
constexpr double kMega = 1e6;

class Stream {
 public:
  Stream(Host& host, std::uint32_t message, std::uint64_t window)
      : host_(host),
        message_(message),
        window_(window),
        connection_(host, {.buffer_bytes = window, .send_requests = kOutstanding}) {
    connection_.end(0).buffer->fill_pattern(message);
    connection_.end(1).buffer->fill(std::byte{0});
  }

  double copy() {
    std::byte* from = connection_.end(0).buffer->at(0);
    std::byte* to = connection_.end(1).buffer->at(0);
    double elapsed = 0;
    host_.in_place_of_worker([&] {
      const Stopwatch watch;
      for (std::uint64_t i = 0; i < messages(); ++i) {
        std::memcpy(to + offset(i), from + offset(i), message_);
        asm volatile("" ::: "memory");
      }
      elapsed = watch.seconds();
    });
    return kTotal / elapsed / kMega;
  }

  double write() {
    End& sender = connection_.end(0);
    std::uint64_t posted = 0;
    std::uint64_t completed = 0;
    const Stopwatch watch;
    while (completed < messages()) {
      while (posted < messages() && posted - completed < kOutstanding) {
        connection_.queue_write(0, offset(posted), offset(posted), message_);
        connection_.ring(0);
        ++posted;
      }
      completed += sender.take_completions(kOutstanding);
    }
    return kTotal / watch.seconds() / kMega;
  }

  void clear() { connection_.end(1).buffer->fill(std::byte{0}); }
  bool arrived() {
    return std::memcmp(connection_.end(0).buffer->at(0), connection_.end(1).buffer->at(0),
                       window_) == 0;
  }

 private:
  std::uint64_t messages() const { return kTotal / message_; }
  std::uint64_t offset(std::uint64_t message) const { return message * message_ % window_; }

  Host& host_;
  std::uint32_t message_;
  std::uint64_t window_;
  Connection connection_;
};

Figure measure(const Settings& settings, std::uint32_t message, std::uint64_t window) {
  Host host(settings.cores);
  Stream stream(host, message, window);
  Figure figure{.name = fmt::format(
                    "write {} KiB, {}", message >> 10,
                    window == message ? "one buffer" : fmt::format("{} MiB window", window >> 20)),
                .unit = "MB/s",
                .floor_name = "memcpy of the same buffers by the worker's core",
                .target = {Target::Of::kRatio, Target::Sense::kAtLeast, 0.85}};
  figure.measure(
      settings.repetitions, [&] { return stream.copy(); }, [&] { return stream.write(); });
  stream.clear();
  stream.write();
  demand(stream.arrived(), "written bytes differ from their source");
  return figure;
}

}  // namespace

Figures write_bandwidth(const Settings& settings) {
  constexpr std::uint32_t k64K = 64 << 10;
  constexpr std::uint32_t k1M = 1 << 20;
  constexpr std::uint64_t kWindow = 16 << 20;
  Figures figures;
  for (const std::uint32_t message : {k64K, k1M}) {
    figures.push_back(measure(settings, message, message));
    figures.push_back(measure(settings, message, kWindow));
  }
  return figures;
}

}  // namespace paravane::bench
