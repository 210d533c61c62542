#include "vfio_user/server_impl.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cassert>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/memory_shortage.h"

namespace paravane::vfio_user {
namespace {

// A VMM gives up after 5 s.
constexpr Duration kLate = std::chrono::seconds(1);
constexpr Duration kListenAgainAfter = std::chrono::seconds(1);
// Longer than GuestMemory keeps a file without ranges.
constexpr Duration kFilesStay = std::chrono::seconds(15);
constexpr int kAcceptsPerTurn = 16;

// " (12 more like it)", or nothing.
std::string and_kept_back(std::uint64_t lines) {
  return lines == 0 ? "" : " (" + std::to_string(lines) + " similar messages suppressed)";
}

}  // namespace

ServerImpl::ServerImpl(ServerConfig config, Listener listener, const Parts& parts)
    : config_(std::move(config)),
      parts_(parts),
      function_(parts.device, parts.memory, parts.interrupts, counters_),
      lost_configuration_(function_.config(), parts.memory, parts.timers),
      listener_(std::move(listener)),
      refused_clients_(parts.loop, parts.timers, parts.clock) {}

ServerImpl::~ServerImpl() {
  thread_.check();
  parts_.timers.cancel(listen_again_);
  parts_.timers.cancel(expiry_);
  parts_.loop.unwatch(listener_.fd());
  if (client_) leave();
  if (leaving_) left();  // no client is left to wait for it
  parts_.loop.unwatch(listener_.fd());
}

Status ServerImpl::start() {
  return watch_listener();
}

Status ServerImpl::watch_listener() {
  if (listening_) return {};
  const Status watched =
      parts_.loop.watch(listener_.fd(), EPOLLIN, [this](std::uint32_t) { on_listener_ready(); });
  listening_ = watched.has_value();
  return watched;
}

void ServerImpl::on_listener_ready() {
  for (int i = 0; i < kAcceptsPerTurn && listening_; ++i) {
    Result<std::optional<UniqueFd>> next = listener_.accept();
    if (!next) {
      troubles_.error(now(), "{}: cannot accept a VMM: {}; trying again in a second", config_.name,
                      next.error().message);
      pause_listening();
      return;
    }
    if (!*next) return;
    if (client_) {
      refuse_client(std::move(**next));
    } else {
      accept_client(std::move(**next));
    }
  }
}

// The socket stays readable while the reason lasts; without a pause we would
// spin on it.
void ServerImpl::pause_listening() {
  parts_.loop.unwatch(listener_.fd());
  listening_ = false;
  parts_.timers.cancel(listen_again_);
  listen_again_ = parts_.timers.set(now() + kListenAgainAfter, [this](Instant) {
    listen_again_ = TimerId::kNone;
    if (leaving_) return;  // left() does it
    if (const Status watched = watch_listener(); !watched) pause_listening();
  });
}

void ServerImpl::refuse_client(UniqueFd socket) {
  counters_.refused_clients.add();
  const int pid = pid_of_peer(socket.get());
  Status refused = fail(Errc::kResourceExhausted, "no memory");
  runs_in_memory([&] { refused = refused_clients_.add(std::move(socket)); });
  if (const auto kept_back = refusals_of_clients_.allow(now())) {
    log::warn("{}: refused a second client (pid {}): already serving pid {}{}{}", config_.name, pid,
              client_->pid, refused ? "" : "; " + refused.error().message,
              and_kept_back(*kept_back));
  }
}

int ServerImpl::pid_of_peer(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

ServerImpl::Client::Client(UniqueFd socket, int peer, ServerImpl& server)
    : pid(peer),
      session(Session::Parts{.function = server.function_,
                             .memory = server.parts_.memory,
                             .interrupts = server.parts_.interrupts,
                             .counters = server.counters_}),
      connection(std::move(socket), server.parts_.loop, server.parts_.timers, server,
                 {.requests_per_turn = server.config_.messages_per_turn,
                  .stall = server.config_.handshake_timeout},
                 server.config_.keeping.exchange) {}

void ServerImpl::accept_client(UniqueFd socket) {
  const int pid = pid_of_peer(socket.get());
  Status started = fail(Errc::kResourceExhausted, "no memory");
  if (keeps()) config_.keeping.exchange->begin_client();
  runs_in_memory([&] {
    client_.emplace(std::move(socket), pid, *this);
    limit_handshake();
    started = client_->connection.start();
  });
  if (started) return;
  troubles_.error(now(), "{}: cannot serve the VMM (pid {}): {}", config_.name, pid,
                  started.error().message);
  if (client_) parts_.timers.cancel(client_->limit);
  client_.reset();
}

void ServerImpl::limit_handshake() {
  limit_client(
      config_.handshake_timeout,
      {.broken = true, .reason = "no vfio-user VERSION was received within the time limit"});
}

void ServerImpl::limit_client(Duration time, const Connection::Ending& ending) {
  parts_.timers.cancel(client_->limit);
  client_->limit = parts_.timers.set(now() + time, [this, time, ending](Instant) {
    // Nothing of it was read then.
    if (!takes_requests()) return limit_client(time, ending);
    client_->connection.close_soon(ending);
  });
}

void ServerImpl::on_request(Request& request) {
  counters_.messages.add();
  log::debug("{}: vfio-user command {}, id {:#x}, {} bytes", config_.name,
             request.header.command.get(), request.header.id.get(), request.header.size.get());
  Session& session = client_->session;
  const bool was_negotiated = session.negotiated();
  const ReplyToken token{++last_token_};
  calling_ = Calling{.token = token};
  Handled handled = refuse(ENOMEM);
  const bool had_memory = runs_in_memory([&] { handled = session.handle(request, reply_, token); });
  const bool answered = std::exchange(calling_, std::nullopt)->answered;
  if (!had_memory) {
    troubles_.error(now(), "{}: out of memory for vfio-user command {} of the VMM", config_.name,
                    request.header.command.get());
  }

  note_change(request);
  if (session.memory_is_private()) warn_of_private_memory();
  if (request.command() == Command::kDmaUnmap) runs_in_memory([this] { expire_files_soon(); });
  if (handled) {
    runs_in_memory(
        [&] { lost_configuration_.look(request.command(), session.memory_is_private(), now()); });
  }
  if (handled && *handled == Answer::kLater) {
    if (!answered) {
      owed_ = Owed{.token = token, .request = request.header, .since = now()};
      client_->connection.hold();
      return;
    }
    function_.answered();
  }
  if (!handled) note_refusal(request);
  if (!runs_in_memory([&] { finish(request.header, handled ? 0 : handled.error()); })) {
    return client_->connection.close_soon(
        {.broken = false, .reason = "out of memory for the response"});
  }
  if (session.negotiated() && !was_negotiated) note_attached();
  if (session.farewell()) say_farewell();
}

// The client has its error and closes the connection itself; a VMM that finds
// it closed instead may crash (refused_clients.h).
void ServerImpl::say_farewell() {
  counters_.broken_connections.add();
  if (const auto kept_back = comings_and_goings_.allow(now())) {
    log::warn("{}: refused the VMM (pid {}) on {}: {}{}", config_.name, client_->pid,
              config_.socket_path.string(), *client_->session.farewell(),
              and_kept_back(*kept_back));
  }
  client_->connection.hold();
  limit_client(RefusedClients::kPatience, {.broken = false, .reason = "refused"});
}

void ServerImpl::finish(const Header& request, int error) {
  if (!wants_answer(request)) {
    if (error != 0) counters_.posted_errors.add();
    return keep_what_changed({});
  }
  const std::span<const std::byte> answer = reply_.finish(request, error);
  keep_what_changed(answer);
  client_->connection.send(answer, reply_.fd());
}

// Reads change nothing, and what the device changes without a request is not kept.
void ServerImpl::note_change(const Request& request) {
  const Command command = request.command();
  const bool attaches = command == Command::kVersion || command == Command::kDmaMap ||
                        command == Command::kDmaUnmap || command == Command::kSetIrqs ||
                        command == Command::kReset;
  const bool writes = command == Command::kRegionWrite &&
                      (function_.take_config_changed() || parts_.device.take_setup_changed());
  changed_ = keeps() && (changed_ || attaches || writes);
}

// Together with the answer, so that both have happened or neither.
void ServerImpl::keep_what_changed(std::span<const std::byte> answer) {
  if (!std::exchange(changed_, false) || !client_->session.negotiated()) return;
  answer_ = answer;
  config_.keeping.keeper->keep_attachment();
  // From here on nothing goes without it, also if it could not be kept.
  config_.keeping.exchange->set_needs(config_.keeping.exchange->serial());
  answer_ = {};
}

void ServerImpl::note_refusal(const Request& request) {
  counters_.protocol_errors.add();
  if (const auto kept_back = refusals_.allow(now())) {
    const std::string& why = client_->session.why();
    log::warn("{}: refused vfio-user command {} of the VMM{}{}{}", config_.name,
              request.header.command.get(), why.empty() ? "" : ": ", why,
              and_kept_back(*kept_back));
  }
}

void ServerImpl::note_attached() {
  parts_.timers.cancel(std::exchange(client_->limit, TimerId::kNone));
  counters_.attaches.add();
  if (const auto kept_back = comings_and_goings_.allow(now())) {
    log::info("{}: VMM attached (pid {}){}", config_.name, client_->pid, and_kept_back(*kept_back));
  }
  parts_.device.on_attach();
}

void ServerImpl::warn_of_private_memory() {
  if (std::exchange(client_->warned_of_private_memory, true)) return;
  troubles_.error(now(),
                  "{}: guest memory was passed without a file descriptor, so the device cannot "
                  "access it; start QEMU with -object "
                  "memory-backend-memfd,id=m0,size=SIZE,share=on -machine memory-backend=m0",
                  config_.name);
}

// A file that nothing shows any more (memory that was unplugged) is unmapped when
// it stays so. No timer runs unless something was unmapped.
void ServerImpl::expire_files_soon() {
  parts_.memory.expire_files(now());
  if (expiry_ != TimerId::kNone) return;
  expiry_ = parts_.timers.set(now() + kFilesStay, [this](Instant now) {
    expiry_ = TimerId::kNone;
    parts_.memory.expire_files(now);
  });
}

void ServerImpl::disconnect(const std::string& reason) {
  thread_.check();
  if (client_) client_->connection.close_soon({.broken = false, .reason = reason});
}

void ServerImpl::answer(ReplyToken token) {
  thread_.check();
  if (calling_ && calling_->token == token) {
    calling_->answered = true;
  } else if (leaving_ == token) {
    left();
  } else if (owed_ && owed_->token == token) {
    const Owed owed = *std::exchange(owed_, std::nullopt);
    function_.answered();
    if (now() - owed.since > kLate) counters_.late_answers.add();
    finish(owed.request, 0);
    client_->connection.resume();
  }
}

void ServerImpl::on_ended(const Connection::Ending& ending) {
  if (ending.broken) counters_.broken_connections.add();
  if (const auto kept_back = comings_and_goings_.allow(now())) {
    log::info("{}: the connection of the VMM (pid {}) on {} ended: {}{}", config_.name,
              client_->pid, config_.socket_path.string(), ending.reason, and_kept_back(*kept_back));
  }
  leave();
}

// The socket goes first: the VMM is told nothing any more, and a VMM that is
// still there sees at once that its device has gone.
void ServerImpl::leave() {
  const bool was_attached = client_->session.negotiated();
  parts_.timers.cancel(client_->limit);
  // Another process has a copy of it.
  if (keeps()) ::shutdown(client_->connection.socket(), SHUT_WR);
  client_.reset();
  owed_.reset();
  changed_ = false;
  lost_configuration_.forget();
  if (!was_attached) return;  // the device has not heard of it
  if (keeps()) config_.keeping.keeper->keep_attachment();

  const ReplyToken token{++last_token_};
  leaving_ = token;
  calling_ = Calling{.token = token};
  const Answer answer = function_.reset(ResetCause::kDisconnect, token);
  const bool answered = std::exchange(calling_, std::nullopt)->answered;
  if (answer == Answer::kNow || answered) {
    left();
  } else {
    parts_.loop.unwatch(listener_.fd());
    listening_ = false;
  }
}

void ServerImpl::left() {
  leaving_.reset();
  function_.forget_vmm();
  if (listen_again_ != TimerId::kNone) return;
  if (const Status watched = watch_listener(); !watched) pause_listening();
}

}  // namespace paravane::vfio_user
