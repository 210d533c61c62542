// paravane_tap_relay: the floor of IPoIB over a cable. Frames of a tap go over a TLS connection to
// the same program at another host, which writes them to its tap, and back. There is no InfiniBand,
// no address and no switch in between: a frame is preceded by its length, and nothing else is done
// to it.
//
// Tap and TLS are those of the daemon: the tap has no offloads, and the TLS settings and the
// certificates are those of a cable. As many frames as wait, and as have room in it, share a TLS
// record. What a held-up connection has no room for waits in the tap, which drops what is too much.
// One thread, as that of a subnet.
//
// Usage: paravane_tap_relay TAP listen|dial ADDRESS IDENTITY AUTHORITY
// IDENTITY: a host's key and certificate; AUTHORITY: that of its cluster. Ends with the connection.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "base/wire_int.h"
#include "cluster/tls_context.h"
#include "ethernet/offload_tap.h"

namespace paravane::bench {
namespace {

constexpr const char* kRelayProtocol = "paravane-tap-relay/1";
constexpr std::uint16_t kRelayPort = 7472;
constexpr std::size_t kRecord = std::size_t{16} * 1024;  // the longest that TLS has
constexpr std::size_t kMostFrame = 9216;
constexpr std::size_t kLengthBytes = sizeof(Be16);
constexpr int kRecordsPerTurn = 8;  // of a direction, before the other has its turn

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "paravane_tap_relay: %s\n", why.c_str());
  std::exit(EXIT_FAILURE);
}

void need(bool condition, const char* what) {
  if (!condition) give_up(std::string(what) + ": " + std::strerror(errno));
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) give_up("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

UniqueFd connection(const std::string& address, bool dials) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(kRelayPort);
  if (::inet_pton(AF_INET, address.c_str(), &name.sin_addr) != 1) give_up("no address: " + address);
  const auto* place = reinterpret_cast<const sockaddr*>(&name);
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  need(static_cast<bool>(socket), "there is no socket");
  const int on = 1;
  if (dials) {
    need(::connect(socket.get(), place, sizeof name) == 0, "cannot connect");
  } else {
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    need(::bind(socket.get(), place, sizeof name) == 0, "cannot bind");
    need(::listen(socket.get(), 1) == 0, "cannot listen");
    socket = UniqueFd(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    need(static_cast<bool>(socket), "cannot accept");
  }
  need(::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "no TCP_NODELAY");
  return socket;
}

// Returns if the same call is to be made again when the socket is ready.
void expect_to_wait(SSL* tls, int returned) {
  const int why = SSL_get_error(tls, returned);
  if (why == SSL_ERROR_ZERO_RETURN) std::exit(EXIT_SUCCESS);
  if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
    give_up("the connection ends: " + cluster::tls_problem(tls));
}

class TapRelay {
 public:
  TapRelay(UniqueFd tap, UniqueFd socket, SSL* tls)
      : tap_(std::move(tap)), socket_(std::move(socket)), tls_(tls) {}

  [[noreturn]] void run() {
    for (;;) {
      const bool is_held_up = record_ > 0;
      const auto of_tap = static_cast<short>(is_held_up ? 0 : POLLIN);
      const auto of_socket = static_cast<short>(is_held_up ? POLLIN | POLLOUT : POLLIN);
      std::array<pollfd, 2> waits{{{tap_.get(), of_tap, 0}, {socket_.get(), of_socket, 0}}};
      // What OpenSSL has read ahead makes no socket readable, and a frame at hand no tap.
      const bool has_frame = !is_held_up && waiting_ > 0;
      const int patience = has_more_ || has_frame ? 0 : -1;
      need(::poll(waits.data(), waits.size(), patience) >= 0 || errno == EINTR, "cannot poll");
      send();
      receive();
    }
  }

 private:
  void send() {
    for (int records = 0; records < kRecordsPerTurn; ++records) {
      if (record_ == 0) collect();
      if (record_ == 0) return;
      std::size_t sent = 0;
      const int returned = SSL_write_ex(tls_, out_.data(), record_, &sent);
      if (returned != 1) {
        expect_to_wait(tls_, returned);
        return;  // the next call has the same bytes
      }
      std::memmove(out_.data(), out_.data() + record_, waiting_);  // a record goes as a whole
      record_ = 0;
    }
  }

  // One record of what waits at the tap. A frame that has no room in it begins the next one.
  void collect() {
    record_ = std::exchange(waiting_, 0);
    for (;;) {
      std::byte* const to = out_.data() + record_;
      const ssize_t got = ::read(tap_.get(), to + kLengthBytes, kMostFrame);
      if (got <= 0) {
        need(got < 0 && (errno == EAGAIN || errno == EINTR), "cannot read the tap");
        return;
      }
      Be16 length;
      length.set(static_cast<std::uint16_t>(got));
      std::memcpy(to, &length, sizeof length);
      const std::size_t bytes = kLengthBytes + static_cast<std::size_t>(got);
      if (record_ + bytes > kRecord) {
        waiting_ = bytes;
        return;
      }
      record_ += bytes;
    }
  }

  void receive() {
    has_more_ = true;
    for (int records = 0; records < kRecordsPerTurn; ++records) {
      std::size_t got = 0;
      const int returned = SSL_read_ex(tls_, in_.data() + filled_, in_.size() - filled_, &got);
      if (returned != 1) {
        expect_to_wait(tls_, returned);
        has_more_ = false;
        return;
      }
      filled_ += got;
      deliver();
    }
  }
  void deliver() {
    std::size_t at = 0;
    while (filled_ - at >= kLengthBytes) {
      Be16 length;
      std::memcpy(&length, in_.data() + at, sizeof length);
      const std::size_t bytes = length.get();
      if (bytes == 0 || bytes > kMostFrame) give_up("a frame has an impossible length");
      if (filled_ - at - kLengthBytes < bytes) break;
      // A tap that is down, or full, drops it.
      static_cast<void>(!::write(tap_.get(), in_.data() + at + kLengthBytes, bytes));
      at += kLengthBytes + bytes;
    }
    std::memmove(in_.data(), in_.data() + at, filled_ - at);
    filled_ -= at;
  }

  UniqueFd tap_;
  UniqueFd socket_;
  SSL* tls_;
  std::array<std::byte, kRecord + kLengthBytes + kMostFrame> out_{};
  std::size_t record_ = 0;   // bytes that are to be sent; 0: none are
  std::size_t waiting_ = 0;  // after them, of a frame that had no room in the record
  std::array<std::byte, 2 * kRecord> in_{};
  std::size_t filled_ = 0;
  bool has_more_ = false;
};

[[noreturn]] void relay(std::span<char*> words) {
  const std::string name = words[1];
  const bool dials = std::string_view(words[2]) == "dial";
  auto tap = ethernet::open_frame_tap(name);
  if (!tap) give_up(tap.error().message);
  const auto context =
      cluster::TlsContext::create(contents(words[4]), contents(words[5]), {kRelayProtocol});
  if (!context) give_up(context.error().message);
  UniqueFd socket = connection(words[3], dials);
  const auto tls =
      dials ? (*context)->connect(socket.get(), kRelayProtocol) : (*context)->accept(socket.get());
  if (!tls) give_up(tls.error().message);
  if (SSL_do_handshake(*tls) != 1) give_up("no handshake: " + cluster::tls_problem(*tls));
  need(::fcntl(socket.get(), F_SETFL, O_NONBLOCK) == 0, "cannot set the socket");
  SSL_set_read_ahead(*tls, 1);  // as the daemon does
  SSL_set_options(*tls, SSL_OP_IGNORE_UNEXPECTED_EOF);
  std::printf("%s\n", SSL_get_cipher(*tls));
  std::fflush(stdout);
  TapRelay(std::move(*tap), std::move(socket), *tls).run();
}

}  // namespace
}  // namespace paravane::bench

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: paravane_tap_relay TAP listen|dial ADDRESS IDENTITY AUTHORITY\n");
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  paravane::bench::relay(std::span(argv, static_cast<std::size_t>(argc)));
}
