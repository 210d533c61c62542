// Server: what is saved of it, and how another process goes on with it.

#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include "vfio_user/server_impl.h"
#include "vfio_user/socket_check.h"

namespace paravane::vfio_user {
namespace {

using state::Descriptors;
using state::Reader;
using state::Tag;
using state::Writer;

// kListener is 1.
constexpr Tag kLastToken{2};
constexpr Tag kClient{3};  // none: no client
// Tokens that never come to their end.
constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 62;

// Of a client.
constexpr Tag kClientSocket{1};
constexpr Tag kConnection{2};
constexpr Tag kAttachment{3};  // none: before VERSION
constexpr Tag kKept{4};        // instead of kConnection, of a process that may be killed

// Of an attachment.
constexpr Tag kSession{1};
constexpr Tag kFunction{2};
constexpr Tag kOwed{3};  // none: the device has deferred no response
constexpr Tag kLostConfiguration{4 | state::kMayBeSkipped};  // none: nothing is expected

// Of a response that is owed. Its token is the last.
constexpr Tag kOwedRequest{1};
constexpr Tag kOwedFor{2};  // nanoseconds
constexpr Duration kMostOwedFor = std::chrono::hours(1);

bool is_command(const Header& header) {
  return (header.flags.get() & Header::kTypeMask) == Header::kTypeCommand;
}

}  // namespace

// ---- Saved ----

void ServerImpl::save(Writer& out, Descriptors& descriptors) const {
  thread_.check();
  assert(!calling_);
  {
    const Writer::Group group(out, kListener);
    listener_.save(out, descriptors);
  }
  out.number(kLastToken, last_token_);
  if (!saves_client()) return;
  const Writer::Group group(out, kClient);
  save_client(out, descriptors);
}

void ServerImpl::keep(Writer& out, Descriptors& descriptors) const {
  thread_.check();
  {
    const Writer::Group group(out, kListener);
    listener_.save(out, descriptors);
  }
  out.number(kLastToken, last_token_);
  if (!attached()) return;
  const Writer::Group group(out, kClient);
  descriptors.save(out, kClientSocket, client_->connection.socket());
  {
    const Writer::Group attachment(out, kAttachment);
    save_attachment(out);
  }
  const Writer::Group kept(out, kKept);
  client_->connection.keep(out, answer_);
}

bool ServerImpl::saves_client() const {
  if (!client_) return false;
  return client_->session.negotiated() ||
         (!client_->session.farewell() && !client_->connection.is_ending());
}

void ServerImpl::save_client(Writer& out, Descriptors& descriptors) const {
  descriptors.save(out, kClientSocket, client_->connection.socket());
  {
    const Writer::Group group(out, kConnection);
    client_->connection.save(out, lent_descriptors());
  }
  if (!client_->session.negotiated()) return;
  const Writer::Group group(out, kAttachment);
  save_attachment(out);
}

void ServerImpl::save_attachment(Writer& out) const {
  {
    const Writer::Group group(out, kSession);
    client_->session.save(out);
  }
  {
    const Writer::Group group(out, kFunction);
    function_.save(out);
  }
  if (owed_) save_owed(out);
  lost_configuration_.save(out, kLostConfiguration);
}

void ServerImpl::save_owed(Writer& out) const {
  assert(std::to_underlying(owed_->token) == last_token_);
  const Writer::Group group(out, kOwed);
  out.bytes(kOwedRequest, std::as_bytes(std::span(&owed_->request, 1)));
  const Duration owed_for = std::clamp(now() - owed_->since, Duration(0), kMostOwedFor);
  out.number(kOwedFor, static_cast<std::uint64_t>(owed_for.count()));
}

// What a response may carry: the files of BARs.
std::vector<int> ServerImpl::lent_descriptors() const {
  std::vector<int> lent;
  for (const BarSpec& bar : function_.spec().bars) lent.push_back(bar.mmap_fd);
  return lent;
}

// ---- Adopted ----

Status ServerImpl::adopt(Reader& in, Descriptors& descriptors) {
  thread_.check();
  last_token_ = in.number(kLastToken, kMostTokens);
  if (auto client = in.group_if(kClient)) {
    if (config_.leaves_client_out) {
      end_client(*client, descriptors);
    } else {
      load_client(*client, descriptors);
    }
  }
  in.end();
  const bool has_nothing = parts_.memory.usage().ranges == 0 && !parts_.memory.dma_enabled() &&
                           !parts_.interrupts.has_eventfds() && !parts_.interrupts.enabled();
  in.expect(attached() || has_nothing, "memory or interrupts are attached, and no VMM is");
  if (!in.good()) return in.status();
  return resume();
}

void ServerImpl::load_client(Reader& in, Descriptors& descriptors) {
  UniqueFd socket = descriptors.load(in, kClientSocket);
  if (!in.good()) return;
  if (!in.expect(is_socket_of(config_.socket_path, socket.get(), SocketKind::kAccepted),
                 "this is not a client's socket")) {
    return;
  }
  const int pid = pid_of_peer(socket.get());
  client_.emplace(std::move(socket), pid, *this);
  auto connection = in.group_if(kConnection);
  if (connection) client_->connection.load(*connection, lent_descriptors());
  if (auto attachment = in.group_if(kAttachment)) load_attachment(*attachment);
  if (!connection) load_kept(in);
  in.end();
  in.expect(attached() || !client_->connection.is_ending(), "a client ends before VERSION");
}

// Other processes have the socket, too.
void ServerImpl::end_client(Reader& in, Descriptors& descriptors) {
  const UniqueFd socket = descriptors.load(in, kClientSocket);
  if (in.good()) ::shutdown(socket.get(), SHUT_WR);
}

void ServerImpl::load_kept(Reader& in) {
  Reader kept = in.group(kKept);
  if (!in.expect(keeps() && attached() && !owed_ && !function_.resetting(),
                 "nothing like it is kept")) {
    return;
  }
  client_->connection.go_on(kept);
}

void ServerImpl::load_attachment(Reader& in) {
  Reader session = in.group(kSession);
  client_->session.load(session);
  client_->warned_of_private_memory = client_->session.memory_is_private();
  Reader function = in.group(kFunction);
  function_.load(function);
  if (auto group = in.group_if(kOwed)) {
    Owed owed{.token = ReplyToken{last_token_}, .request = {}, .since = now()};
    group->bytes_into(kOwedRequest, std::as_writable_bytes(std::span(&owed.request, 1)));
    owed.since -=
        Duration(group->number(kOwedFor, static_cast<std::uint64_t>(kMostOwedFor.count())));
    group->end();
    group->expect(last_token_ > 0 && is_command(owed.request), "no request is answered later");
    group->expect(!client_->connection.is_sending(), "two responses are under way");
    owed_ = owed;
    client_->connection.hold();
  }
  lost_configuration_.load(in, kLostConfiguration, client_->session.memory_is_private(), now());
  in.end();
  in.expect(owed_.has_value() || !function_.resetting(), "no request resets the device");
}

Status ServerImpl::resume() {
  if (const Status watched = watch_listener(); !watched) return watched;
  if (!client_) return {};
  if (!attached()) limit_handshake();
  // Its timer is not saved.
  if (attached()) expire_files_soon();
  return client_->connection.start();
}

void ServerImpl::abandon() {
  thread_.check();
  parts_.timers.cancel(std::exchange(listen_again_, TimerId::kNone));
  parts_.timers.cancel(std::exchange(expiry_, TimerId::kNone));
  parts_.loop.unwatch(listener_.fd());
  listening_ = false;
  listener_.abandon();
  refused_clients_.clear();
  if (client_) parts_.timers.cancel(client_->limit);
  client_.reset();
  owed_.reset();
  leaving_.reset();
  lost_configuration_.forget();
}

}  // namespace paravane::vfio_user
