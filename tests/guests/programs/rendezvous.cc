#include "rendezvous.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace guest {
namespace {

sockaddr_in address_of(const char* text, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, text, &address.sin_addr) != 1)
    die(std::string("not an IPv4 address: ") + text);
  return address;
}

void no_delay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

void die(const std::string& what) {
  std::fprintf(stderr, "%s (errno: %s)\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

Rendezvous Rendezvous::serve(std::uint16_t port) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = address_of("0.0.0.0", port);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) die("bind");
  if (listen(listener, 1) != 0) die("listen");
  const int fd = accept(listener, nullptr, nullptr);
  if (fd < 0) die("accept");
  close(listener);
  no_delay(fd);
  return Rendezvous(fd);
}

Rendezvous Rendezvous::reach(const std::string& text, std::uint16_t port) {
  const sockaddr_in address = address_of(text.c_str(), port);
  for (int attempt = 0; attempt < 200; ++attempt) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      no_delay(fd);
      return Rendezvous(fd);
    }
    close(fd);
    usleep(100'000);
  }
  die("connect to " + text);
}

Rendezvous::~Rendezvous() {
  if (fd_ >= 0) close(fd_);
}

Rendezvous::Rendezvous(Rendezvous&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

bool Rendezvous::is_telling() const {
  pollfd polled{.fd = fd_, .events = POLLIN, .revents = 0};
  return ::poll(&polled, 1, 0) > 0;
}

void Rendezvous::write_all(const void* from, std::size_t size) {
  const char* at = static_cast<const char*>(from);
  while (size > 0) {
    const ssize_t n = write(fd_, at, size);
    if (n <= 0) die("the other end is gone (write)");
    at += n;
    size -= static_cast<std::size_t>(n);
  }
}

void Rendezvous::read_all(void* to, std::size_t size) {
  char* at = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t n = read(fd_, at, size);
    if (n <= 0) die("the other end is gone (read)");
    at += n;
    size -= static_cast<std::size_t>(n);
  }
}

}  // namespace guest
