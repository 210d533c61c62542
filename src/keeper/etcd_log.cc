#include "keeper/etcd_log.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace paravane::keeper {
namespace {

constexpr int kMostPieces = 64;  // when it has ended: more than a pipe holds

bool is_printable(char c) {
  return c >= ' ' && c <= '~';
}

}  // namespace

EtcdLog::EtcdLog(EventLoop& loop, Clock clock) : loop_(loop), clock_(std::move(clock)) {
  line_.reserve(kLongest);
}

EtcdLog::~EtcdLog() {
  close();
}

Result<UniqueFd> EtcdLog::open() {
  close();
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail_by_system(Errc::kIo, "pipe", errno);
  }
  UniqueFd from_etcd(ends[0]);
  UniqueFd to_us(ends[1]);
  ::fcntl(from_etcd.get(), F_SETFL, O_NONBLOCK);  // etcd's end waits, while we are busy
  if (Status listens = listen(std::move(from_etcd)); !listens) {
    return std::unexpected(listens.error());
  }
  return to_us;
}

Status EtcdLog::listen(UniqueFd from_etcd) {
  Status watched = loop_.watch(from_etcd.get(), EPOLLIN, [this](std::uint32_t) {
    if (!read()) close();
  });
  if (watched) from_etcd_ = std::move(from_etcd);
  return watched;
}

int EtcdLog::pass_on() {
  say();
  return from_etcd_.get();
}

// etcd cannot be given another pipe, and one that nothing reads would end it.
void EtcdLog::go_on(UniqueFd from_etcd) {
  const Status listens = listen(std::move(from_etcd));
  if (!listens) log_.error(clock_(), "etcd is not heard: {}", listens.error().message);
}

void EtcdLog::close() {
  if (!from_etcd_) return;
  for (int i = 0; i < kMostPieces && read(); ++i) continue;
  say();
  loop_.unwatch(from_etcd_.get());
  from_etcd_.reset();
}

bool EtcdLog::read() {
  std::array<char, 4096> piece;
  const ssize_t count = ::read(from_etcd_.get(), piece.data(), piece.size());
  for (ssize_t i = 0; i < count; ++i) take(piece[static_cast<std::size_t>(i)]);
  return count > 0;
}

void EtcdLog::take(char character) {
  if (character == '\n') return say();
  if (line_.size() < kLongest) {
    line_ += is_printable(character) ? character : '?';
  } else {
    is_cut_ = true;
  }
}

void EtcdLog::say() {
  if (!line_.empty()) log_.warn(clock_(), "etcd: {}{}", line_, is_cut_ ? " (cut)" : "");
  line_.clear();
  is_cut_ = false;
}

}  // namespace paravane::keeper
