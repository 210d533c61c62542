// paravane-trunk: both ends of a trunk over one RDMA device of this machine, each of which sends to
// the other.
//
//   paravane-trunk [--sandboxed] DEVICE MIB
//     --sandboxed    from within the engine's sandbox, with what an adapter needs besides
//
// Lets a byte wake either end, many times, then judges every byte of MIB each way. Prints one line
// of JSON. Ends with 0 if all was as it should be.

#include <fmt/core.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "engine_sandbox.h"
#include "transport/hca/trunk_stream.h"
#include "transport/hca/verbs_port.h"

namespace {

using namespace paravane;
using namespace paravane::transport_hca;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kGuestBytes = 64 * kMiB;
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

iovec piece(std::byte* at, std::size_t bytes) {
  return {.iov_base = at, .iov_len = bytes};
}

// What is written at one end and judged at the other, in pieces of all lengths.
class Direction {
 public:
  Direction(std::uint32_t seed, TrunkStream& from, TrunkStream& to, std::size_t bytes)
      : from_(from),
        to_(to),
        bytes_(bytes),
        random_(seed),
        pattern_(kPeriod),
        came_(kLongestPiece) {
    for (std::size_t i = 0; i < kPeriod; ++i) pattern_[i] = byte_at(seed, i);
  }

  bool is_done() const { return read_ == bytes_; }
  std::size_t wrong() const { return wrong_; }
  // Whether anything has moved.
  bool move() {
    const bool has_written = write();
    return read() || has_written;
  }

 private:
  std::size_t length(std::size_t most) {
    random_ = random_ * 1664525U + 1013904223U;
    return std::min<std::size_t>(most, 1 + (random_ >> 8) % kLongestPiece);
  }

  static bool take(const TrunkStream& end, const IoResult& result, std::size_t& count) {
    if (result.kind == IoResult::Kind::kBroken) give_up(end.problem());
    count += result.bytes;
    return result.bytes > 0;
  }

  bool write() {
    const std::size_t at = written_ % kPeriod;
    const std::size_t bytes = length(std::min(kPeriod - at, bytes_ - written_));
    if (written_ == bytes_) return false;
    const std::size_t first = bytes / 3;
    const std::array pieces{piece(&pattern_[at], first),
                            piece(&pattern_[at] + first, bytes - first)};
    return take(from_, from_.write(pieces), written_);
  }

  bool read() {
    const std::size_t before = read_;
    const std::array pieces{piece(came_.data(), length(kLongestPiece))};
    if (!take(to_, to_.read(pieces), read_)) return false;
    for (std::size_t at = before; at < read_;) {
      const std::size_t bytes = std::min(kPeriod - at % kPeriod, read_ - at);
      if (std::memcmp(&came_[at - before], &pattern_[at % kPeriod], bytes) != 0) ++wrong_;
      at += bytes;
    }
    return true;
  }

  TrunkStream& from_;
  TrunkStream& to_;
  std::size_t bytes_;
  std::uint32_t random_;
  std::vector<std::byte> pattern_;
  std::vector<std::byte> came_;
  std::size_t written_ = 0;
  std::size_t read_ = 0;
  std::size_t wrong_ = 0;  // pieces
};

// Memory of a VM, as far as an adapter is concerned.
void register_guest(ibv_pd* domain) {
  const UniqueFd file(::memfd_create("guest", MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), kGuestBytes) != 0) give_up("no memory for a guest");
  void* at = ::mmap(nullptr, kGuestBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) give_up("no memory for a guest");
  ibv_mr* region = ibv_reg_mr(domain, at, kGuestBytes, IBV_ACCESS_LOCAL_WRITE);
  if (region == nullptr)
    give_up(fmt::format("a guest's memory cannot be registered: {}", std::strerror(errno)));
  ibv_dereg_mr(region);
  ::munmap(at, kGuestBytes);
}

// A byte that comes to an end which has found nothing, and whose descriptor is to say so.
void wake(TrunkStream& from, TrunkStream& to) {
  std::byte byte{0x5A};
  const std::array pieces{piece(&byte, 1)};
  if (to.read(pieces).kind != IoResult::Kind::kWouldBlock)
    give_up("there is a byte that nobody sent");
  if (from.write(pieces).bytes != 1) give_up("a byte cannot be sent");
  byte = {};
  pollfd waiting{.fd = to.fd(), .events = POLLIN, .revents = 0};
  // What was left of an earlier event may wake it once in vain.
  for (int looks = 0; looks < 2; ++looks) {
    if (::poll(&waiting, 1, kPatienceMs) <= 0) give_up("a byte has woken nobody");
    if (to.read(pieces).bytes == 1) break;
  }
  if (byte != std::byte{0x5A}) give_up("another byte has come");
}

// Until one of them can go on.
void sleep_for(const TrunkStream& one, const TrunkStream& other) {
  std::array<pollfd, 2> waiting{pollfd{.fd = one.fd(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = other.fd(), .events = POLLIN, .revents = 0}};
  if (::poll(waiting.data(), waiting.size(), kPatienceMs) <= 0) give_up("nothing moves any more");
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_sandboxed = argc == 4 && std::string_view(argv[1]) == "--sandboxed";
  if (argc != (is_sandboxed ? 4 : 3)) give_up("usage: paravane-trunk [--sandboxed] DEVICE MIB");
  const std::size_t bytes = std::strtoul(argv[argc - 1], nullptr, 10) * kMiB;

  VerbsDevice::load_providers();
  if (is_sandboxed) value_of(guest::enter_engine_sandbox());
  const auto device = value_of(VerbsDevice::open(argv[argc - 2], 1));
  register_guest(device->domain());
  auto left = value_of(VerbsPort::create(device));
  auto right = value_of(VerbsPort::create(device));
  const TrunkAddress address = left->address();
  value_of(left->connect(right->address()));
  value_of(right->connect(address));
  TrunkStream one(std::move(left));
  TrunkStream other(std::move(right));

  for (int i = 0; i < kWakes; ++i) {
    wake(one, other);
    wake(other, one);
  }
  Direction there(1, one, other, bytes);
  Direction back(2, other, one, bytes);
  std::size_t sleeps = 0;
  const Clock::time_point began = Clock::now();
  while (!there.is_done() || !back.is_done()) {
    const bool has_moved = there.move();
    if (back.move() || has_moved || one.holds_bytes() || other.holds_bytes()) continue;
    sleep_for(one, other);
    ++sleeps;
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
  const std::size_t wrong = there.wrong() + back.wrong();
  fmt::print(
      R"({{"device": "{}", "path_mtu": {}, "registered": {}, "wakes": {}, "bytes": {}, "wrong": {}, "sleeps": {}, )"
      R"("mib_per_s": {:.1f}, "confined": {}}})"
      "\n",
      device->name(), address.path_mtu_bytes, kGuestBytes, 2 * kWakes, 2 * bytes, wrong, sleeps,
      static_cast<double>(2 * bytes) / static_cast<double>(kMiB) / seconds, guest::is_confined());
  return wrong == 0 ? 0 : 1;
}
