#include "http/request_lobby.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/memory_shortage.h"

namespace paravane::http {

RequestLobby::~RequestLobby() {
  while (!clients_.empty()) leave(clients_.begin());
}

Status RequestLobby::admit(UniqueFd client, Instant now) {
  if (clients_.size() == kMost) leave(clients_.begin());
  Status watched;
  const bool had_memory = runs_in_memory([&] {
    std::list<Client> fresh;
    fresh.push_back({.socket = std::move(client), .deadline = now + kPatience});
    const Place place = fresh.begin();
    watched = loop_.watch(place->socket.get(), EPOLLIN,
                          [this, place](std::uint32_t /*events*/) { read(place); });
    if (watched) clients_.splice(clients_.end(), fresh);
  });
  return had_memory ? watched : fail(Errc::kResourceExhausted, "no memory");
}

void RequestLobby::drop_late(Instant now) {
  while (!clients_.empty() && clients_.front().deadline <= now) leave(clients_.begin());
}

// One piece at a time, so that no client delays the others.
void RequestLobby::read(Place client) {
  std::array<char, 16384> piece;
  const ssize_t count = ::recv(client->socket.get(), piece.data(), piece.size(), MSG_DONTWAIT);
  if (count < 0) {
    if (errno != EAGAIN && errno != EINTR) leave(client);
    return;
  }
  const auto size = static_cast<std::size_t>(count);
  if (runs_in_memory([&] { take_piece(client, std::string_view(piece.data(), size)); })) return;
  UniqueFd lost = take_out(client);
  if (on_lost_) on_lost_(std::move(lost));
}

// An empty piece: the client has said all.
void RequestLobby::take_piece(Place client, std::string_view piece) {
  const bool whole = client->bytes.add(piece);
  held_ += piece.size();
  if (!whole && !piece.empty()) {
    if (held_ > kMostBytes) leave(clients_.begin());
    return;
  }
  held_ -= client->bytes.size();
  std::string request = client->bytes.take();
  UniqueFd socket = take_out(client);
  if (!request.empty()) on_whole_(std::move(socket), std::move(request));
}

UniqueFd RequestLobby::take_out(Place client) {
  held_ -= client->bytes.size();
  UniqueFd socket = std::exchange(client->socket, UniqueFd());
  loop_.unwatch(socket.get());
  clients_.erase(client);
  return socket;
}

void RequestLobby::leave(Place client) {
  take_out(client);
}

}  // namespace paravane::http
