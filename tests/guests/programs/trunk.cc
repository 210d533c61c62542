// paravane-trunk: a trunk over RDMA devices, each end of which sends to the other.
//
//   paravane-trunk [--sandboxed] DEVICE MIB                   both ends, at one device
//   paravane-trunk [--sandboxed] DEVICE MIB PORT [ADDRESS]    one end; the other is in another host
//     --sandboxed    from within the engine's sandbox, with what an adapter needs besides
//
// A byte wakes either end, many times; then MIB go each way at once, and each byte is judged where
// it comes. Prints one line of JSON. Ends with 0 if all was as it should be.

#include <fmt/core.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "engine_sandbox.h"
#include "rendezvous.h"
#include "transport/hca/trunk_stream.h"
#include "transport/hca/verbs_port.h"

namespace {

using namespace paravane;
using namespace paravane::transport_hca;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kGuestBytes = 64 * kMiB;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE;
// No multiple of a buffer's size: what comes in another's place is not what was expected.
constexpr std::size_t kPeriod = kMiB - 4093;
constexpr std::size_t kLongestPiece = 200'000;
constexpr int kWakes = 200;  // of each end
constexpr int kPatienceMs = 10'000;

[[noreturn]] void give_up(std::string_view what) {
  fmt::print(stderr, "paravane-trunk: {}\n", what);
  std::_Exit(1);
}

template <typename T>
T value_of(Result<T> result) {
  if (!result) give_up(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

std::byte byte_at(std::uint32_t seed, std::size_t index) {
  return std::byte(((index + seed) * 0x9E3779B1U) >> 13);
}

iovec piece(std::span<std::byte> bytes) {
  return {.iov_base = bytes.data(), .iov_len = bytes.size()};
}

// What is sent in one direction, over and over, in pieces of all lengths.
class Pattern {
 public:
  explicit Pattern(std::uint32_t seed) : random_(seed), bytes_(kPeriod) {
    for (std::size_t i = 0; i < kPeriod; ++i) bytes_[i] = byte_at(seed, i);
  }

  // What comes after the first `at` bytes; no more than `most`.
  std::span<std::byte> after(std::size_t at, std::size_t most) {
    const std::size_t begin = at % kPeriod;
    return std::span(bytes_).subspan(begin, std::min(most, kPeriod - begin));
  }
  std::size_t length() {
    random_ = random_ * 1664525U + 1013904223U;
    return 1 + (random_ >> 8) % kLongestPiece;
  }

 private:
  std::uint32_t random_;
  std::vector<std::byte> bytes_;
};

// Adds what has moved, and says whether anything has.
bool add(const TrunkStream& end, const IoResult& result, std::size_t& count) {
  if (result.kind == IoResult::Kind::kBroken) give_up(end.problem());
  count += result.bytes;
  return result.bytes > 0;
}

class Sender {
 public:
  Sender(std::uint32_t seed, TrunkStream& end, std::size_t bytes)
      : pattern_(seed), end_(end), bytes_(bytes) {}

  bool is_done() const { return written_ == bytes_; }
  bool move() {
    if (is_done()) return false;
    const auto part = pattern_.after(written_, std::min(pattern_.length(), bytes_ - written_));
    const std::size_t cut = part.size() / 3;
    const std::array pieces{piece(part.first(cut)), piece(part.subspan(cut))};
    return add(end_, end_.write(pieces), written_);
  }

 private:
  Pattern pattern_;
  TrunkStream& end_;
  std::size_t bytes_;
  std::size_t written_ = 0;
};

class Judge {
 public:
  Judge(std::uint32_t seed, TrunkStream& end, std::size_t bytes)
      : pattern_(seed), end_(end), bytes_(bytes), came_(kLongestPiece) {}

  bool is_done() const { return read_ == bytes_; }
  std::size_t wrong() const { return wrong_; }  // pieces
  bool move() {
    const std::size_t before = read_;
    const std::array pieces{piece(std::span(came_).first(pattern_.length()))};
    if (!add(end_, end_.read(pieces), read_)) return false;
    for (std::size_t at = before; at < read_;) {
      const auto expected = pattern_.after(at, read_ - at);
      if (std::memcmp(&came_[at - before], expected.data(), expected.size()) != 0) ++wrong_;
      at += expected.size();
    }
    return true;
  }

 private:
  Pattern pattern_;
  TrunkStream& end_;
  std::size_t bytes_;
  std::vector<std::byte> came_;
  std::size_t read_ = 0;
  std::size_t wrong_ = 0;
};

// Memory of a VM, as far as an adapter is concerned.
void register_guest(ibv_pd* domain) {
  const UniqueFd file(::memfd_create("guest", MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), kGuestBytes) != 0) give_up("no memory for a guest");
  void* at = ::mmap(nullptr, kGuestBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) give_up("no memory for a guest");
  ibv_mr* region = ibv_reg_mr(domain, at, kGuestBytes, kAccess);
  if (region == nullptr)
    give_up(fmt::format("a guest's memory cannot be registered: {}", std::strerror(errno)));
  ibv_dereg_mr(region);
  ::munmap(at, kGuestBytes);
}

void sleep_until_readable(std::span<pollfd> waiting, std::string_view in_vain) {
  if (::poll(waiting.data(), waiting.size(), kPatienceMs) <= 0) give_up(in_vain);
}

bool has_come(TrunkStream& end, std::byte expected) {
  std::byte byte{};
  const std::array pieces{piece({&byte, 1})};
  const IoResult result = end.read(pieces);
  if (result.kind == IoResult::Kind::kBroken) give_up(end.problem());
  if (result.bytes == 1 && byte != expected) give_up("another byte has come");
  return result.bytes == 1;
}

void send(TrunkStream& end, std::byte byte) {
  const std::array pieces{piece({&byte, 1})};
  std::size_t sent = 0;
  while (!add(end, end.write(pieces), sent)) {
  }
}

// The end has found nothing, and its descriptor is to say when that changes.
void await(TrunkStream& end, std::byte byte) {
  do {
    pollfd waiting{.fd = end.fd(), .events = POLLIN, .revents = 0};
    sleep_until_readable({&waiting, 1}, "a byte has woken nobody");
  } while (!has_come(end, byte));
}

struct Options {
  bool is_sandboxed = false;
  std::string device;
  std::size_t bytes = 0;
  std::string port;     // of the rendezvous
  std::string address;  // of the end that listens there
};

Options options_of(std::span<char*> words) {
  Options options;
  options.is_sandboxed = words.size() > 1 && std::string_view(words[1]) == "--sandboxed";
  words = words.subspan(options.is_sandboxed ? 2 : 1);
  if (words.size() < 2 || words.size() > 4)
    give_up("usage: paravane-trunk [--sandboxed] DEVICE MIB [PORT [ADDRESS]]");
  options.device = words[0];
  options.bytes = std::strtoul(words[1], nullptr, 10) * kMiB;
  if (words.size() > 2) options.port = words[2];
  if (words.size() > 3) options.address = words[3];
  return options;
}

std::optional<guest::Rendezvous> meet(const Options& options) {
  if (options.port.empty()) return std::nullopt;
  const auto port = static_cast<std::uint16_t>(std::stoi(options.port));
  return options.address.empty() ? guest::Rendezvous::serve(port)
                                 : guest::Rendezvous::reach(options.address, port);
}

struct Outcome {
  std::size_t wrong = 0;
  std::size_t sleeps = 0;
  double wake_us = 0;  // from a byte's send until the other end has it, asleep
  double mib_per_s = 0;
};

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

// Until all is sent and judged.
void move_all(std::span<TrunkStream* const> ends, std::span<Sender> senders,
              std::span<Judge> judges, std::size_t bytes, Outcome& outcome) {
  std::vector<pollfd> waiting;
  for (const TrunkStream* end : ends)
    waiting.push_back({.fd = end->fd(), .events = POLLIN, .revents = 0});
  const Clock::time_point began = Clock::now();
  while (!std::ranges::all_of(senders, &Sender::is_done) ||
         !std::ranges::all_of(judges, &Judge::is_done)) {
    bool has_moved = false;
    for (Sender& sender : senders) has_moved |= sender.move();
    for (Judge& judge : judges) has_moved |= judge.move();
    if (has_moved || std::ranges::any_of(ends, &TrunkStream::holds_bytes)) continue;
    sleep_until_readable(waiting, "nothing moves any more");
    ++outcome.sleeps;
  }
  outcome.mib_per_s = static_cast<double>(bytes) / static_cast<double>(kMiB) / seconds_since(began);
  for (const Judge& judge : judges) outcome.wrong += judge.wrong();
}

// Both ends are here.
Outcome inside(const std::shared_ptr<VerbsDevice>& device, std::size_t bytes) {
  auto left = value_of(VerbsPort::create(device));
  auto right = value_of(VerbsPort::create(device));
  value_of(left->connect(right->address()));
  value_of(right->connect(left->address()));
  TrunkStream one(std::move(left));
  TrunkStream other(std::move(right));
  Outcome outcome;
  const Clock::time_point began = Clock::now();
  for (int i = 0; i < 2 * kWakes; ++i) {
    TrunkStream& from = i % 2 == 0 ? one : other;
    TrunkStream& to = i % 2 == 0 ? other : one;
    if (has_come(to, {})) give_up("there is a byte that nobody sent");
    send(from, std::byte(i));
    await(to, std::byte(i));
  }
  outcome.wake_us = seconds_since(began) * 1e6 / (2 * kWakes);
  std::array senders{Sender(1, one, bytes), Sender(2, other, bytes)};
  std::array judges{Judge(1, other, bytes), Judge(2, one, bytes)};
  const std::array ends{&one, &other};
  move_all(ends, senders, judges, 2 * bytes, outcome);
  return outcome;
}

// The other end is in another host. `begins`: this one sends the first byte.
Outcome between(const std::shared_ptr<VerbsDevice>& device, std::size_t bytes,
                guest::Rendezvous& peer, bool begins) {
  auto port = value_of(VerbsPort::create(device));
  peer.tell(port->address());
  value_of(port->connect(peer.hear<TrunkAddress>()));
  peer.tell(true);
  peer.hear<bool>();  // it is connected as well
  TrunkStream end(std::move(port));
  Outcome outcome;
  const Clock::time_point began = Clock::now();
  for (int i = 0; i < kWakes; ++i) {
    if (begins) send(end, std::byte(i));
    if (!has_come(end, std::byte(i))) await(end, std::byte(i));
    if (!begins) send(end, std::byte(i));
  }
  outcome.wake_us = seconds_since(began) * 1e6 / (2 * kWakes);
  std::array senders{Sender(begins ? 1 : 2, end, bytes)};
  std::array judges{Judge(begins ? 2 : 1, end, bytes)};
  const std::array ends{&end};
  move_all(ends, senders, judges, 2 * bytes, outcome);
  peer.tell(true);
  peer.hear<bool>();  // it has all
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = options_of({argv, static_cast<std::size_t>(argc)});
  std::optional<guest::Rendezvous> peer = meet(options);  // the sandbox makes no connection
  VerbsDevice::load_providers();
  if (options.is_sandboxed) value_of(guest::enter_engine_sandbox());
  const auto device = std::static_pointer_cast<VerbsDevice>(
      value_of(VerbsDevice::open({.device = options.device})));
  register_guest(device->domain());
  const Outcome outcome = peer ? between(device, options.bytes, *peer, !options.address.empty())
                               : inside(device, options.bytes);
  fmt::print(
      R"({{"device": "{}", "registered": {}, "bytes": {}, "wrong": {}, "sleeps": {}, "wake_us": {:.0f}, )"
      R"("mib_per_s": {:.1f}, "confined": {}}})"
      "\n",
      device->name(), kGuestBytes, 2 * options.bytes, outcome.wrong, outcome.sleeps,
      outcome.wake_us, outcome.mib_per_s, guest::is_confined());
  return outcome.wrong == 0 ? 0 : 1;
}
