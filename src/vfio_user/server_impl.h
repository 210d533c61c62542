// ServerImpl implements Server and its life cycle. It waits for a client, serves it, disconnects
// it, and waits for the next client.
//
//   waiting -> (accepted) -> handshake -> (VERSION) -> attached
//      ^                        |                         |
//      +---- memory unmapped <- leaving <- (socket closed)+
//
// The state "leaving" lasts until the device has released guest memory. Until then, the next client
// waits in the socket's queue.
//
// Owner thread only.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/limited_log.h"
#include "base/owner_thread.h"
#include "base/turn_clock.h"
#include "vfio_user/connection.h"
#include "vfio_user/function.h"
#include "vfio_user/listener.h"
#include "vfio_user/lost_configuration.h"
#include "vfio_user/refused_clients.h"
#include "vfio_user/server.h"
#include "vfio_user/session.h"

namespace paravane::vfio_user {

class ServerImpl final : public Server, private Connection::Owner {
 public:
  struct Parts {
    EventLoop& loop;
    TimerQueue& timers;
    const TurnClock& clock;
    PciDevice& device;
    GuestMemory& memory;
    Interrupts& interrupts;
  };
  ServerImpl(ServerConfig config, Listener listener, const Parts& parts);
  ~ServerImpl() override;

  Status start();
  // Instead of start(). Errors: kInvalidArgument (the state is refused), kIo; then abandon() it.
  Status adopt(state::Reader& in, state::Descriptors& descriptors);
  static constexpr state::Tag kListener{1};

  bool attached() const override { return client_ && client_->session.negotiated(); }
  bool configuration_lost() const override { return lost_configuration_.lost(); }
  int peer_pid() const override { return client_ ? client_->pid : 0; }
  const ServerCounters& counters() const override { return counters_; }
  void disconnect(const std::string& reason) override;
  void answer(ReplyToken token) override;
  void save(state::Writer& out, state::Descriptors& descriptors) const override;
  void keep(state::Writer& out, state::Descriptors& descriptors) const override;
  void abandon() override;

 private:
  struct Client {
    Client(UniqueFd socket, int peer, ServerImpl& server);
    int pid;
    Session session;
    Connection connection;
    TimerId limit = TimerId::kNone;  // until VERSION, and after a farewell
    bool warned_of_private_memory = false;
  };
  // 0: not known.
  static int pid_of_peer(int socket);

  struct Owed {  // a response that the device has deferred
    ReplyToken token;
    Header request;
    Instant since;
  };
  struct Calling {  // a request that the device is handling right now
    ReplyToken token;
    bool answered = false;  // answer() came before kLater was returned
  };

  // ---- Clients come ----
  Status watch_listener();
  void on_listener_ready();
  void accept_client(UniqueFd socket);
  void refuse_client(UniqueFd socket);
  void pause_listening();
  bool keeps() const { return config_.keeping.keeper != nullptr; }
  void limit_handshake();
  void limit_client(Duration time, const Connection::Ending& ending);

  // ---- Connection::Owner ----
  void on_request(Request& request) override;
  void on_ended(const Connection::Ending& ending) override;
  Instant now() const override { return parts_.clock.now; }
  bool takes_requests() const override { return parts_.device.takes_requests(); }

  // Answers with reply_, or with `error` alone.
  void finish(const Header& request, int error);
  void note_change(const Request& request);
  void keep_what_changed(std::span<const std::byte> answer);
  void say_farewell();
  void note_refusal(const Request& request);
  void note_attached();
  void warn_of_private_memory();
  void expire_files_soon();

  // ---- Into another process (server_state.cc) ----
  bool saves_client() const;
  void save_client(state::Writer& out, state::Descriptors& descriptors) const;
  void save_attachment(state::Writer& out) const;
  void save_owed(state::Writer& out) const;
  void load_client(state::Reader& in, state::Descriptors& descriptors);
  void load_kept(state::Reader& in);
  static void end_client(state::Reader& in, state::Descriptors& descriptors);
  void load_attachment(state::Reader& in);
  std::vector<int> lent_descriptors() const;
  Status resume();

  // ---- Clients leave ----
  void leave();
  void left();

  ServerConfig config_;
  Parts parts_;
  ServerCounters counters_;
  Function function_;
  LostConfiguration lost_configuration_;
  Listener listener_;
  RefusedClients refused_clients_;
  std::optional<Client> client_;
  Reply reply_;
  bool changed_ = false;               // what is attached, and it is not kept yet
  std::span<const std::byte> answer_;  // that is about to be sent, while it is kept

  std::uint64_t last_token_ = 0;
  std::optional<Calling> calling_;
  std::optional<Owed> owed_;
  std::optional<ReplyToken> leaving_;  // the device still has guest memory in hand
  TimerId listen_again_ = TimerId::kNone;
  TimerId expiry_ = TimerId::kNone;
  bool listening_ = false;

  LimitedLog troubles_;
  LogLimit refusals_of_clients_;
  LogLimit refusals_;
  LogLimit comings_and_goings_{std::chrono::seconds(10), 10};
  OwnerThread thread_;
};

}  // namespace paravane::vfio_user
