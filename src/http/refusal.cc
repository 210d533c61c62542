#include "http/refusal.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>

#include "base/version.h"

namespace paravane::http {
namespace {

constexpr int kPatience = 20;  // milliseconds
constexpr int kMostPieces = 8;

}  // namespace

std::string make_refusal(const api::ApiResponse& answer) {
  return fmt::format(
      "HTTP/1.1 {} Service Unavailable\r\nServer: paravaned/{}\r\nContent-Type: {}\r\n"
      "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
      answer.status, kVersion, answer.content_type, answer.body.size(), answer.body);
}

void tell_and_close(UniqueFd client, std::string_view refusal) {
  pollfd asks{.fd = client.get(), .events = POLLIN, .revents = 0};
  ::poll(&asks, 1, kPatience);
  std::array<char, 16384> ignored;
  for (int i = 0; i < kMostPieces; ++i) {
    if (::recv(client.get(), ignored.data(), ignored.size(), MSG_DONTWAIT) <= 0) break;
  }
  [[maybe_unused]] const ssize_t sent =
      ::send(client.get(), refusal.data(), refusal.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(client.get(), SHUT_WR);
}

}  // namespace paravane::http
