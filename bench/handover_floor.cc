#include "bench/handover_floor.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/unique_fd.h"
#include "bench/question.h"
#include "privsep/parcel.h"

namespace paravane::bench {
namespace {

using privsep::ParcelLine;

constexpr std::size_t kPageBytes = 4096;

Instant in_time() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(10);
}

void say(int socket, char word) {
  if (::write(socket, &word, 1) != 1) ::_exit(1);
}

char hear(int socket) {
  char word = 0;
  if (::read(socket, &word, 1) != 1) ::_exit(1);
  return word;
}

std::array<UniqueFd, 2> make_line() {
  std::array<int, 2> ends{};
  demand(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, "no socket pair");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// The pages are there, and mapped.
void touch(int file, std::uint64_t bytes) {
  if (bytes == 0) return;
  const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (memory == MAP_FAILED) ::_exit(1);
  for (std::uint64_t at = 0; at < bytes; at += kPageBytes) {
    static_cast<volatile std::byte*>(memory)[at] = std::byte{1};
  }
}

// The process that ends. It tells the third when it has begun.
[[noreturn]] void leave(const HandoverSize& size, UniqueFd line, int memory, int keeper) {
  touch(-1, size.private_bytes);
  touch(memory, size.shared_bytes);
  const std::vector<std::byte> state(size.parcel_bytes, std::byte{7});
  const std::vector<int> descriptors(size.descriptors, memory);
  ParcelLine parcels(std::move(line));
  say(keeper, 'r');
  if (hear(keeper) != 'b') ::_exit(1);
  for (unsigned i = 0; i < size.parcels; ++i) {
    if (!parcels.send("one", state, descriptors, in_time())) ::_exit(1);
  }
  if (!parcels.end(size.parcels, in_time()) || hear(keeper) != 'x') ::_exit(1);
  ::_exit(0);
}

// The process that goes on.
[[noreturn]] void take(UniqueFd line, int keeper) {
  ParcelLine parcels(std::move(line));
  std::vector<UniqueFd> kept;
  for (;;) {
    auto news = parcels.receive();
    if (!news) ::_exit(1);
    if (!*news) {
      if (!parcels.wait_for_news(in_time())) ::_exit(1);
      continue;
    }
    if ((*news)->end) break;
    if (!(*news)->parcel->read()) ::_exit(1);
    for (UniqueFd& one : (*news)->parcel->descriptors) kept.push_back(std::move(one));
  }
  say(keeper, 't');
  static_cast<void>(hear(keeper));
  say(keeper, 'g');
  ::_exit(0);
}

}  // namespace

double handover_floor(const HandoverSize& size) {
  const UniqueFd memory(::memfd_create("bench", MFD_CLOEXEC));
  const std::uint64_t pages = size.shared_bytes == 0 ? kPageBytes : size.shared_bytes;
  demand(memory && ::ftruncate(memory.get(), static_cast<off_t>(pages)) == 0, "no memory file");
  auto parcels = ParcelLine::make();
  demand(parcels.has_value(), "no socket pair");
  auto first = make_line();
  auto second = make_line();
  const pid_t leaving = ::fork();
  if (leaving == 0) leave(size, std::move((*parcels)[0]), memory.get(), first[1].get());
  const pid_t taking = ::fork();
  if (taking == 0) take(std::move((*parcels)[1]), second[1].get());
  demand(leaving > 0 && taking > 0, "no process for the floor");
  static_cast<void>(hear(first[0].get()));
  const auto begin = std::chrono::steady_clock::now();
  say(first[0].get(), 'b');
  static_cast<void>(hear(second[0].get()));
  say(first[0].get(), 'x');
  int status = 0;
  demand(::waitpid(leaving, &status, 0) == leaving && status == 0, "the floor has failed");
  say(second[0].get(), 'g');
  static_cast<void>(hear(second[0].get()));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  ::waitpid(taking, &status, 0);
  demand(status == 0, "the floor has failed");
  return took.count();
}

}  // namespace paravane::bench
