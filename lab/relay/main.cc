// lab/wire: a cable between two NICs that it makes, with faults to order.

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "relay.h"

namespace paravane::lab {
namespace {

constexpr int kUsage = 2;
constexpr std::array kProperties = {"loss",       "duplicate", "reorder", "damage", "damage-from",
                                    "reorder-by", "delay",     "rate",    "queue"};

struct Options {
  std::array<std::string, 2> places;
  std::uint64_t seed = 1;
  unsigned mtu = 1500;
  std::array<std::string, kProperties.size()> values;
  std::string down_every;
  std::string down_for = "1s";
};

int complain(const std::string& problem, int status) {
  fmt::print(stderr, "wire: {}\n", problem);
  return status;
}

std::string describe(const WireCounts& counts) {
  return fmt::format(
      R"({{"frames":{},"bytes":{},"delivered":{},"lost":{},"duplicated":{},"reordered":{},)"
      R"("damaged":{},"queue_full":{},"while_down":{},"refused":{}}})",
      counts.frames, counts.bytes, counts.delivered, counts.lost, counts.duplicated,
      counts.reordered, counts.damaged, counts.queue_full, counts.while_down, counts.refused);
}

// One process: the wire, its orders, its clock.
class Wire {
 public:
  Wire(Relay relay, int signals) : relay_(std::move(relay)), signals_(signals) {}

  Relay& relay() { return relay_; }
  // The link goes down about that often; zero: never.
  void set_outages(Duration every, Duration length) {
    outage_every_ = every;
    outage_length_ = length;
    if (every != Duration::zero()) next_switch_ = std::chrono::steady_clock::now() + every;
  }

  int run() {
    say("ready");
    while (!over_) {
      const Instant now = std::chrono::steady_clock::now();
      if (const Status done = tick(now); !done) return complain(done.error().message, 1);
      if (const Status done = wait(now); !done) return complain(done.error().message, 1);
    }
    say_counts();
    return 0;
  }

 private:
  static void say(const std::string& line) {
    fmt::print("{}\n", line);
    static_cast<void>(std::fflush(stdout));
  }
  void say_counts() const {
    say(fmt::format(R"({{"a_to_b":{},"b_to_a":{}}})", describe(relay_.counts(0)),
                    describe(relay_.counts(1))));
  }

  Status tick(Instant now) {
    relay_.deliver(now);
    if (!next_switch_ || now < *next_switch_) return {};
    const bool up = !relay_.link();
    next_switch_ = now + (up ? outage_every_ : outage_length_);
    return relay_.set_link(up);
  }

  Status wait(Instant now) {
    std::array<pollfd, 4> polled = {{{relay_.fd(0), POLLIN, 0},
                                     {relay_.fd(1), POLLIN, 0},
                                     {signals_, POLLIN, 0},
                                     {orders_end_ ? -1 : STDIN_FILENO, POLLIN, 0}}};
    std::optional<Instant> until = relay_.next_due();
    if (next_switch_ && (!until || *next_switch_ < *until)) until = next_switch_;
    timespec left{};
    if (until && *until > now) {
      const Duration span = *until - now;
      left.tv_sec = span.count() / 1'000'000'000;
      left.tv_nsec = span.count() % 1'000'000'000;
    }
    if (::ppoll(polled.data(), polled.size(), until ? &left : nullptr, nullptr) < 0) {
      if (errno == EINTR) return {};
      return fail(Errc::kIo, std::strerror(errno));
    }
    for (unsigned end = 0; end < 2; ++end) {
      if (polled[end].revents == 0) continue;
      if (Status taken = relay_.take(end, std::chrono::steady_clock::now()); !taken) return taken;
    }
    if (polled[2].revents != 0) over_ = true;
    if (polled[3].revents != 0) return take_orders();
    return {};
  }

  Status take_orders() {
    std::array<char, 4096> buffer;
    const ssize_t size = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (size <= 0) {
      orders_end_ = true;
      return {};
    }
    orders_.append(buffer.data(), static_cast<std::size_t>(size));
    for (std::size_t end = orders_.find('\n'); end != std::string::npos; end = orders_.find('\n')) {
      const std::string line = orders_.substr(0, end);
      orders_.erase(0, end + 1);
      if (Status done = obey(line); !done) return done;
    }
    return {};
  }

  // Each is answered with a line.
  Status obey(const std::string& line) {
    Status done;
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string word = line.substr(0, blank);
    const std::string value = line.substr(std::min(blank + 1, line.size()));
    if (line == "up" || line == "down") {
      done = relay_.set_link(line == "up");
      say("ok");
    } else if (line == "counts") {
      say_counts();
    } else if (line == "quit") {
      over_ = true;
    } else if (const auto problem = set_impairment(word, value, relay_.impairment())) {
      say(fmt::format("error: {} {}", word, *problem));
    } else {
      say("ok");
    }
    return done;
  }

  Relay relay_;
  int signals_;
  Duration outage_every_{};
  Duration outage_length_{};
  std::optional<Instant> next_switch_;  // of the link
  std::string orders_;
  bool orders_end_ = false;
  bool over_ = false;
};

int open_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int run(const Options& options) {
  Impairment impairment;
  for (std::size_t i = 0; i < kProperties.size(); ++i) {
    if (options.values[i].empty()) continue;
    if (const auto problem = set_impairment(kProperties[i], options.values[i], impairment)) {
      return complain(fmt::format("--{} {} {}", kProperties[i], options.values[i], *problem),
                      kUsage);
    }
  }
  // Times are read as the delay is.
  Impairment every;
  Impairment length;
  if (!options.down_every.empty() && set_impairment("delay", options.down_every, every)) {
    return complain("--down-every is a time, such as 10s", kUsage);
  }
  if (set_impairment("delay", options.down_for, length)) {
    return complain("--down-for is a time, such as 1s", kUsage);
  }
  const int signals = open_signals();
  auto a = TapEnd::make(options.places[0], options.mtu);
  if (!a) return complain(a.error().message, 1);
  auto b = TapEnd::make(options.places[1], options.mtu);
  if (!b) return complain(b.error().message, 1);
  Wire wire(Relay({std::move(*a), std::move(*b)}, options.seed), signals);
  wire.relay().impairment() = impairment;
  wire.set_outages(every.delay, length.delay);
  return wire.run();
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("A cable between two NICs that it makes, with faults that a seed repeats.", "wire");
  Options options;
  app.add_option("A", options.places[0], "NIC, and the namespace that it is made in")
      ->type_name("NIC[@NETNS]")
      ->required();
  app.add_option("B", options.places[1], "The other end")->type_name("NIC[@NETNS]")->required();
  app.add_option("--seed", options.seed, "Which frames are hit (1)")->type_name("NUMBER");
  app.add_option("--mtu", options.mtu, "Of both NICs (1500)")
      ->type_name("BYTES")
      ->check(CLI::Range(68u, 65000u).description(""));
  const std::array help = {"Frames that vanish: 1% or 0.01",
                           "Frames that come twice",
                           "Frames that come late, after others",
                           "Frames in which one bit is inverted",
                           "The first byte of those that may be hit (0)",
                           "By how much at most (2ms)",
                           "Of every frame: 20us, 5ms, 1s",
                           "Bits per second: 100mbit, 1gbit (as fast as it goes)",
                           "Frames that wait per direction; more are dropped (10000)"};
  const std::array types = {"SHARE", "SHARE", "SHARE", "SHARE", "NUMBER",
                            "TIME",  "TIME",  "RATE",  "NUMBER"};
  for (std::size_t i = 0; i < kProperties.size(); ++i) {
    app.add_option(fmt::format("--{}", kProperties[i]), options.values[i], help[i])
        ->type_name(types[i]);
  }
  app.add_option("--down-every", options.down_every, "Take the link away this long after it came")
      ->type_name("TIME");
  app.add_option("--down-for", options.down_for, "And give it back after this (1s)")
      ->type_name("TIME");
  app.footer(
      "Prints \"ready\" when both NICs are up, and runs until SIGINT or SIGTERM, or the order\n"
      "quit; then, in JSON, what happened to the frames. Orders are lines of its standard\n"
      "input: down, up, counts, quit, or a property and its value, such as: loss 10%.\n"
      "Examples:\n"
      "  lab/wire eth1@h1 eth1@h2\n"
      "  lab/wire eth1@h1 eth1@h2 --loss 1% --delay 20ms --reorder 5% --seed 7");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  return run(options);
}

}  // namespace
}  // namespace paravane::lab

int main(int argc, char** argv) {
  try {
    return paravane::lab::parse_and_run(argc, argv);
  } catch (const std::exception& error) {  // no memory
    static_cast<void>(std::fprintf(stderr, "wire: %s\n", error.what()));
    return 1;
  }
}
