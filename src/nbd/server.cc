#include "nbd/server.h"

#include <utility>

#include "base/memory_shortage.h"

namespace paravane::nbd {
namespace {

// Of each connection that does not have the device, so that they do not wait for the one that has,
// nor it for them.
constexpr TurnBudget kShareOfHandshake{.bytes = std::int64_t{16} * 1024, .operations = 16};

}  // namespace

Server::Server(BlockDevice& device, std::string description, EventLoop& loop,
               const TurnClock& clock)
    : loop_(loop),
      clock_(clock),
      served_(device, std::move(description)),
      doorway_(
          loop, timers_, "nbd " + served_.offer.name,
          [this](UniqueFd client) { on_client(std::move(client)); },
          [&clock] { return clock.now; }) {}

Server::~Server() = default;

Status Server::open(UniqueFd listening) {
  return doorway_.open(std::move(listening));
}

// What the loop has heard of other clients at the same time it tells once: nothing of this one may
// keep it from that.
void Server::on_client(UniqueFd client) {
  runs_in_memory([&] { take_client(std::move(client)); });
}

void Server::take_client(UniqueFd client) {
  if (connections_.size() >= kMostConnections) {
    served_.counters.too_many_connections.add();
    served_.log.warn(clock_.now, "nbd {}: a client was refused: {} are connected",
                     served_.offer.name, connections_.size());
    return;
  }
  Connections made;
  made.emplace_back(std::move(client), served_, loop_, clock_.now);
  if (!made.front().watch()) return;
  served_.counters.connections.add();
  connections_.splice(connections_.end(), made);
}

bool Server::has_work() const {
  for (const Connection& one : connections_) {
    if (one.has_work()) return true;
  }
  return false;
}

Instant Server::next_look() {
  Instant next = timers_.next_deadline();
  for (const Connection& one : connections_) next = std::min(next, one.deadline());
  return next;
}

bool Server::turn(Instant now, TurnBudget& budget) {
  if (timers_.next_deadline() <= now) timers_.run_due(now);
  bool worked = false;
  for (Connection& one : connections_) {
    if (!one.has_work() && now < one.deadline()) continue;
    worked = true;
    if (&one == served_.user) {
      give_turn(one, now, budget);
      continue;
    }
    TurnBudget share = kShareOfHandshake;
    give_turn(one, now, share);
    budget.bytes -= kShareOfHandshake.bytes - share.bytes;
    budget.operations -= kShareOfHandshake.operations - share.operations;
  }
  if (worked) connections_.remove_if([](const Connection& one) { return one.is_over(); });
  return worked;
}

// A connection that was interrupted for lack of memory does not know what it has sent.
void Server::give_turn(Connection& connection, Instant now, TurnBudget& budget) {
  if (!runs_in_memory([&] { connection.turn(now, budget); })) connection.break_off();
}

Instant Server::last_heard() const {
  return served_.user == nullptr ? Instant{} : served_.user->last_heard();
}

void Server::look_at_socket() {
  if (served_.user != nullptr) served_.user->look();
}

}  // namespace paravane::nbd
