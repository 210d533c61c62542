#include "http/request_lobby.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace paravane::http {

RequestLobby::~RequestLobby() {
  while (!clients_.empty()) leave(clients_.begin());
}

Status RequestLobby::admit(UniqueFd client, Instant now) {
  if (clients_.size() == kMost) leave(clients_.begin());
  clients_.push_back({.socket = std::move(client), .deadline = now + kPatience});
  const Place place = std::prev(clients_.end());
  const Status watched = loop_.watch(place->socket.get(), EPOLLIN,
                                     [this, place](std::uint32_t /*events*/) { read(place); });
  if (!watched) clients_.erase(place);
  return watched;
}

void RequestLobby::drop_late(Instant now) {
  while (!clients_.empty() && clients_.front().deadline <= now) leave(clients_.begin());
}

// One piece at a time, so that nobody keeps the others waiting.
void RequestLobby::read(Place client) {
  std::array<char, 16384> piece;
  const ssize_t count = ::recv(client->socket.get(), piece.data(), piece.size(), MSG_DONTWAIT);
  if (count < 0) {
    if (errno != EAGAIN && errno != EINTR) leave(client);
    return;
  }
  const bool closed = count == 0;
  held_ += static_cast<std::size_t>(count);
  const bool whole =
      client->bytes.add(std::string_view(piece.data(), static_cast<std::size_t>(count)));
  if (!whole && !closed) {
    if (held_ > kMostBytes) leave(clients_.begin());
    return;
  }
  held_ -= client->bytes.size();
  std::string request = client->bytes.take();
  UniqueFd socket = std::exchange(client->socket, UniqueFd());
  loop_.unwatch(socket.get());
  clients_.erase(client);
  if (!request.empty()) on_whole_(std::move(socket), std::move(request));
}

void RequestLobby::leave(Place client) {
  held_ -= client->bytes.size();
  loop_.unwatch(client->socket.get());
  clients_.erase(client);
}

}  // namespace paravane::http
