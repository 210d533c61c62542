// paravane-tally: goes on and on with requests that count, so that one which is lost or
// done twice shows, whatever happens to the way between two ends.
//
//   paravane-tally [OPTION]... PORT            the end that is acted upon
//   paravane-tally [OPTION]... PORT ADDRESS    the end that acts
//     --seconds S    how long it acts (5), unless SIGINT ends it before: after the round that is
//     under way
//     --timeout N    of the queue pair: 4.096 us * 2^N a try (17)
//     --retries N    and tries beyond the first (7)
//     --leave MS     the acting end leaves the completions of a round where they are for so long,
//     in a queue that has room for fewer (0: takes them at once)
//     --events       sleeps until it is told of a completion, and counts one of which it is not
//     told as lost. Of the kernel of a VM that is none
//     --map-anew MS  of a VM that is none: the end that is acted upon has its VMM take all its
//     memory away and show it again, so often (0: never), but not before 8 more messages came:
//     a machine without time gets to use what it has prepared
//
// A round is a few requests under way together: FETCH AND ADD, a numbered SEND with
// immediate, RDMA WRITE, RDMA READ of what was written, COMPARE AND SWAP from the round's
// number to the next. Says how many rounds there were and how long the longest took.
//
// Ends with 0 if all was as it should be; with 3 if a request failed and all was right up
// to it: the acting end says which status, how long after the last that was good.

#include <arpa/inet.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "endpoint.h"
#include "rendezvous.h"

namespace {

using guest::Endpoint;
using guest::Patience;
using guest::Rendezvous;
using Clock = std::chrono::steady_clock;

constexpr int kRequestFailed = 3;

// Places in both buffers. The words of a round lie in different cache lines.
constexpr std::uint32_t kCounter = 0;
constexpr std::uint32_t kSwapped = 64;
constexpr std::uint32_t kWritten = 4096;  // at the acting end: what is written
constexpr std::uint32_t kLongest = 40'000;
constexpr std::uint32_t kReadBack = 65'536;
constexpr std::uint32_t kSent = 131'072;  // at the other: where SENDs arrive
constexpr std::uint32_t kSendRoom = 2'048;
constexpr std::size_t kBufferBytes = 262'144;

constexpr std::uint32_t kAdds = 4;  // in a round
constexpr std::uint32_t kRequests = kAdds + 4;
constexpr std::uint32_t kReceives = 8;
constexpr std::uint64_t kBetweenMaps = 8;     // messages
constexpr std::uint32_t kFewCompletions = 4;  // of a queue in which they are left
// Longer than all tries of a queue pair: a request that fails has a completion, too.
constexpr std::chrono::seconds kLatest(100);
constexpr std::chrono::milliseconds kLook(100);  // and whether the end has come

struct Options {
  Patience patience;
  std::chrono::seconds seconds{5};
  std::chrono::milliseconds map_anew{0};
  std::chrono::milliseconds leave{0};
  bool events = false;
  std::uint16_t port = 0;
  std::string address;
};

// What the acting end has seen done.
struct Tally {
  std::uint64_t rounds = 0;  // all of them whole
  std::uint64_t posted = 0;  // rounds
  std::uint32_t failed = 0;  // a request was
  std::uint32_t wrong = 0;
};

int complain(const char* what, std::uint64_t round) {
  std::printf("round %llu: %s\n", static_cast<unsigned long long>(round), what);
  return 1;
}

void fill(std::uint8_t* at, std::uint32_t length, std::uint64_t seed) {
  std::uint32_t x = static_cast<std::uint32_t>(seed) * 2654435761u + 1;
  for (std::uint32_t i = 0; i < length; ++i) {
    x = x * 1664525u + 1013904223u;
    at[i] = static_cast<std::uint8_t>(x >> 24);
  }
}

bool holds(const std::uint8_t* at, std::uint32_t length, std::uint64_t seed) {
  std::vector<std::uint8_t> expected(length);
  fill(expected.data(), length, seed);
  return std::memcmp(at, expected.data(), length) == 0;
}

// Mostly short, and one in four longer than what travels inside a frame.
std::uint32_t written_bytes(std::uint64_t round) {
  return round % 4 == 0 ? kLongest - static_cast<std::uint32_t>(round % 97) : 700;
}
std::uint32_t sent_bytes(std::uint64_t round) {
  return 8 + static_cast<std::uint32_t>(round % (kSendRoom - 8));
}

std::uint64_t word_at(const std::uint8_t* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// SIGINT, which waits until it is asked for: no call of ours or of a library is interrupted.
sigset_t interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}

bool was_interrupted() {
  const sigset_t set = interrupts();
  const timespec none{};
  return sigtimedwait(&set, nullptr, &none) == SIGINT;
}

class Actor {
 public:
  Actor(Endpoint& end, const Options& options) : end_(end), options_(options) {}

  Tally run() {
    const Clock::time_point until = Clock::now() + options_.seconds;
    last_good_ = Clock::now();
    while (Clock::now() < until && tally_.failed == 0 && tally_.wrong == 0 && !was_interrupted()) {
      const Clock::time_point began = Clock::now();
      post();
      if (!take_completions()) break;
      check();
      longest_ = std::max(longest_, Clock::now() - began);
      ++tally_.rounds;
    }
    std::printf("rounds: %llu, the longest took %.3f s\n",
                static_cast<unsigned long long>(tally_.rounds), seconds_of(longest_));
    return tally_;
  }

 private:
  static double seconds_of(Clock::duration time) {
    return std::chrono::duration<double>(time).count();
  }

  ibv_send_wr to(std::uint32_t place, ibv_wr_opcode opcode) const {
    ibv_send_wr request{};
    request.opcode = opcode;
    request.wr.rdma = {.remote_addr = end_.other().buffer + place, .rkey = end_.other().rkey};
    return request;
  }
  ibv_send_wr atomic_to(std::uint32_t place, ibv_wr_opcode opcode, std::uint64_t compare_add,
                        std::uint64_t swap) const {
    ibv_send_wr request{};
    request.opcode = opcode;
    request.wr.atomic = {.remote_addr = end_.other().buffer + place,
                         .compare_add = compare_add,
                         .swap = swap,
                         .rkey = end_.other().rkey};
    return request;
  }
  static std::uint32_t answer_place(std::uint32_t number) { return 128 + 64 * number; }

  void post() {
    const std::uint64_t round = tally_.rounds;
    ++tally_.posted;
    for (std::uint32_t i = 0; i < kAdds; ++i) {
      end_.post_send(false, atomic_to(kCounter, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0), answer_place(i),
                     8, 1);
    }
    fill(end_.buffer() + kSent, sent_bytes(round), round);
    ibv_send_wr send{};
    send.opcode = IBV_WR_SEND_WITH_IMM;
    send.imm_data = htonl(static_cast<std::uint32_t>(round));
    end_.post_send(false, send, kSent, sent_bytes(round), 1);
    fill(end_.buffer() + kWritten, written_bytes(round), round);
    end_.post_send(false, to(kWritten, IBV_WR_RDMA_WRITE), kWritten, written_bytes(round), 2);
    end_.post_send(false, to(kWritten, IBV_WR_RDMA_READ), kReadBack, written_bytes(round), 1);
    end_.post_send(false, atomic_to(kSwapped, IBV_WR_ATOMIC_CMP_AND_SWP, round, round + 1),
                   answer_place(kAdds), 8, 1);
  }

  bool take_completions() {
    if (options_.leave.count() != 0) {
      std::this_thread::sleep_for(options_.leave);
      last_good_ = Clock::now();
    }
    for (std::uint32_t done = 0; done < kRequests;) {
      const auto completion = options_.events ? end_.wait_for(kLook) : end_.poll();
      if (end_.missed_event()) {
        tally_.wrong |= complain("a completion came without its event", tally_.rounds);
        return false;
      }
      if (!completion) {
        if (Clock::now() - last_good_ > kLatest) {
          tally_.wrong |= complain("a completion was lost", tally_.rounds);
          return false;
        }
        // Does not keep others from a processor while there is an outage.
        if (Clock::now() - last_good_ > std::chrono::milliseconds(5)) usleep(500);
        continue;
      }
      const Clock::time_point now = Clock::now();
      if (completion->status != IBV_WC_SUCCESS) {
        std::printf("failed: %s after %.3f s\n", ibv_wc_status_str(completion->status),
                    seconds_of(now - last_good_));
        tally_.failed = 1;
        return false;
      }
      last_good_ = now;
      ++done;
    }
    return true;
  }

  void check() {
    const std::uint64_t round = tally_.rounds;
    for (std::uint32_t i = 0; i < kAdds; ++i) {
      if (word_at(end_.buffer() + answer_place(i)) != kAdds * round + i) {
        tally_.wrong |= complain("an addition was lost or done twice", round);
      }
    }
    if (word_at(end_.buffer() + answer_place(kAdds)) != round) {
      tally_.wrong |= complain("a comparison found something else", round);
    }
    if (!holds(end_.buffer() + kReadBack, written_bytes(round), round)) {
      tally_.wrong |= complain("what was written is not what is read", round);
    }
  }

  Endpoint& end_;
  const Options& options_;
  Tally tally_;
  Clock::time_point last_good_;
  Clock::duration longest_{};
};

// The other end: counts what arrives until the acting end says that it is over.
class Target {
 public:
  Target(Endpoint& end, const Options& options)
      : end_(end), map_anew_(options.map_anew), events_(options.events) {}

  void post_receives() {
    for (std::uint32_t i = 0; i < kReceives; ++i) post_receive(i);
  }

  int run(Rendezvous& peer) {
    int wrong = 0;
    while (!peer.is_telling()) {
      if (!take() && !events_) usleep(200);
      take_memory_away();
      wrong |= wrong_;
    }
    const auto tally = peer.hear<Tally>();
    while (take()) continue;
    wrong |= wrong_ | static_cast<int>(tally.wrong);
    const std::uint64_t counter = word_at(end_.buffer() + kCounter);
    const std::uint64_t swapped = word_at(end_.buffer() + kSwapped);
    // What was under way when a request failed was done once or not at all.
    if (counter < kAdds * tally.rounds || counter > kAdds * tally.posted ||
        swapped < tally.rounds || swapped > tally.posted || arrived_ < tally.rounds ||
        arrived_ > tally.posted) {
      wrong |= complain("not as many as were sent", tally.rounds);
    }
    if (map_anew_.count() != 0) std::printf("mapped anew: %d\n", mapped_anew_);
    std::printf("additions: %llu, swaps: %llu, messages: %llu\n",
                static_cast<unsigned long long>(counter), static_cast<unsigned long long>(swapped),
                static_cast<unsigned long long>(arrived_));
    if (wrong != 0) return 1;
    return tally.failed != 0 ? kRequestFailed : 0;
  }

 private:
  static std::uint32_t place_of(std::uint64_t number) {
    return kSent + kSendRoom * static_cast<std::uint32_t>(number % kReceives);
  }
  void post_receive(std::uint64_t number) {
    end_.post_receive(false, place_of(number), kSendRoom, 1);
  }

  void take_memory_away() {
    if (map_anew_.count() == 0 || Clock::now() - last_mapped_ < map_anew_) return;
    if (arrived_ - arrived_before_ < kBetweenMaps) return;
    end_.map_memory_anew();
    arrived_before_ = arrived_;
    ++mapped_anew_;
    last_mapped_ = Clock::now();
  }

  bool take() {
    const auto completion = events_ ? end_.wait_for(kLook) : end_.poll();
    if (end_.missed_event()) wrong_ = complain("a completion came without its event", arrived_);
    if (!completion || completion->status != IBV_WC_SUCCESS) return false;
    if (ntohl(completion->imm_data) != static_cast<std::uint32_t>(arrived_) ||
        completion->byte_len != sent_bytes(arrived_)) {
      wrong_ = complain("a message was lost or came twice", arrived_);
    } else if (!holds(end_.buffer() + place_of(arrived_), sent_bytes(arrived_), arrived_)) {
      wrong_ = complain("a message has wrong bytes", arrived_);
    }
    post_receive(arrived_++);
    return true;
  }

  Endpoint& end_;
  std::chrono::milliseconds map_anew_;
  bool events_;
  Clock::time_point last_mapped_ = Clock::now();
  int mapped_anew_ = 0;
  std::uint64_t arrived_ = 0;
  std::uint64_t arrived_before_ = 0;  // the memory was mapped anew
  int wrong_ = 0;
};

[[noreturn]] void usage() {
  std::fprintf(
      stderr,
      "usage: paravane-tally [--seconds S] [--timeout N] [--retries N] [--leave MS] [--events] "
      "[--map-anew MS] PORT [ADDRESS]\n");
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  int at = 1;
  const auto number = [&](unsigned most) {
    unsigned value = 0;
    const char* text = at < argc ? argv[at++] : "";
    const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
    if (error != std::errc{} || *end != '\0' || value > most) usage();
    return value;
  };
  while (at < argc && std::strncmp(argv[at], "--", 2) == 0) {
    const std::string name = argv[at++];
    if (name == "--seconds") {
      options.seconds = std::chrono::seconds(number(3600));
    } else if (name == "--timeout") {
      options.patience.timeout = static_cast<std::uint8_t>(number(31));
    } else if (name == "--retries") {
      options.patience.retries = static_cast<std::uint8_t>(number(7));
    } else if (name == "--leave") {
      options.leave = std::chrono::milliseconds(number(10'000));
    } else if (name == "--events") {
      options.events = true;
    } else if (name == "--map-anew") {
      options.map_anew = std::chrono::milliseconds(number(60'000));
    } else {
      usage();
    }
  }
  options.port = static_cast<std::uint16_t>(number(65'535));
  if (at < argc) options.address = argv[at++];
  if (at != argc) usage();
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const bool acting = !options.address.empty();
  const sigset_t held = interrupts();
  if (acting) sigprocmask(SIG_BLOCK, &held, nullptr);
  const bool leaves = acting && options.leave.count() != 0;
  Endpoint end(kBufferBytes,
               {.completions = leaves ? kFewCompletions : 0, .in_kernel = options.events});
  Rendezvous peer =
      acting ? Rendezvous::reach(options.address, options.port) : Rendezvous::serve(options.port);
  end.connect(peer, options.patience);
  Target target(end, options);
  if (!acting) target.post_receives();
  peer.tell<std::uint32_t>(0);
  peer.hear<std::uint32_t>();
  if (!acting) return target.run(peer);
  std::printf("begun\n");
  const Tally tally = Actor(end, options).run();
  peer.tell(tally);
  if (tally.wrong != 0) return 1;
  return tally.failed != 0 ? kRequestFailed : 0;
}
