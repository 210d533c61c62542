// RequestLobby holds the HTTP clients whose requests are not complete yet. No thread waits for
// these clients. A client that sends its request slowly, or only a part of it, therefore uses only
// a descriptor and some memory, and only for a limited time. When there are too many clients, the
// oldest one is disconnected.
//
// One thread.

#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <string_view>

#include "base/event_loop.h"
#include "base/instant.h"
#include "base/unique_fd.h"
#include "http/request_bytes.h"

namespace paravane::http {

class RequestLobby {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;  // of all clients
  static constexpr Duration kPatience = std::chrono::seconds(5);

  // Called with a complete request, or with everything that arrived before the client closed its
  // side.
  using WholeFunction = std::function<void(UniqueFd client, std::string request)>;

  // Called with a client whose request cannot be stored for lack of memory.
  using LostFunction = std::function<void(UniqueFd client)>;

  // `loop` outlives the lobby.
  RequestLobby(EventLoop& loop, WholeFunction on_whole, LostFunction on_lost = {})
      : loop_(loop), on_whole_(std::move(on_whole)), on_lost_(std::move(on_lost)) {}
  ~RequestLobby();
  RequestLobby(const RequestLobby&) = delete;
  RequestLobby& operator=(const RequestLobby&) = delete;

  // REQUIRES: the socket does not block. Errors: kIo, kResourceExhausted (memory); the client is
  // dropped.
  Status admit(UniqueFd client, Instant now);
  // Disconnects the clients whose time limit has passed.
  void drop_late(Instant now);
  // When drop_late() has something to do; kNever: no client waits.
  Instant next_deadline() const { return clients_.empty() ? kNever : clients_.front().deadline; }
  std::size_t size() const { return clients_.size(); }

 private:
  struct Client {
    UniqueFd socket;
    Instant deadline;
    RequestBytes bytes{};
  };
  using Place = std::list<Client>::iterator;
  void read(Place client);
  void take_piece(Place client, std::string_view piece);
  UniqueFd take_out(Place client);
  void leave(Place client);

  EventLoop& loop_;
  WholeFunction on_whole_;
  LostFunction on_lost_;
  std::list<Client> clients_;  // the oldest first
  std::size_t held_ = 0;       // bytes of all of them
};

}  // namespace paravane::http
