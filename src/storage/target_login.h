// TargetLogin is one login at a target: the connection, the SRP session on it, and the tasks that
// are under way. It is made once; another login is another object.
//
// The payload of a task is lent to the target for that task alone, under a key of its own. A task
// without an answer is aborted in time, then its logical unit is reset, then the login ends
// (srp/recovery.h). When a login ends, its queue pair and all keys end first, and all tasks are
// given back as lost afterwards: nothing that the target does later reaches our memory.
//
// Owner thread only. The owner calls pump() after `wake`, and hands in what the connection manager
// says of connection().

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/instant.h"
#include "base/result.h"
#include "base/timers.h"
#include "connection/communication_manager.h"
#include "host_verbs/connection_endpoint.h"
#include "host_verbs/service_adapter.h"
#include "srp/recovery.h"
#include "srp/session.h"
#include "storage/target_address.h"
#include "storage/task.h"

namespace paravane::storage {

class TargetLogin final : public TaskPath, private srp::Sender, private srp::SessionEvents {
 public:
  static constexpr std::size_t kMostCommands = 32;
  // Another target has loans of the same vmhba, and keys are easy to guess.
  static constexpr host_verbs::ConnectionEndpoint::Size kMessages{
      .sends = 64, .receives = 64, .is_apart = true};
  static constexpr srp::Patience kPatience{.command = std::chrono::seconds(10),
                                           .abort = std::chrono::seconds(3),
                                           .reset = std::chrono::seconds(3)};

  enum class State : std::uint8_t { kConnecting, kUp, kRefused, kEnded };

  // All outlive it.
  struct Surroundings {
    host_verbs::ServiceAdapter& adapter;
    connection::CommunicationManager& connections;
    TimerQueue& timers;
    std::uint64_t local_guid = 0;  // of the port
    srp::PortId initiator{};
    std::function<void()> wake;        // pump() has something to do
    std::function<void()> look_again;  // the target's logical units have changed
  };
  TargetLogin(TargetAddress address, Surroundings surroundings);
  ~TargetLogin() override;
  TargetLogin(const TargetLogin&) = delete;
  TargetLogin& operator=(const TargetLogin&) = delete;

  // Asks for the connection. Errors: as ConnectionEndpoint::make(),
  // CommunicationManager::connect().
  Status begin(std::uint32_t starting_psn, Instant now);

  // ---- What the connection manager says ----
  connection::ConnectionId connection() const { return connection_; }
  void on_reply(const connection::Reply& reply, Instant now);
  void on_rejected(const connection::Rejection& rejection);
  void on_timed_out();
  void on_disconnected(Instant now);

  // Takes at most `limit` messages, and sends what can be sent.
  void pump(Instant now, std::size_t limit);
  // Of one that is not up, nothing is taken any more.
  bool has_messages() const { return is_up() && endpoint_->has_work(); }
  // Ends it, for this reason.
  void end(std::string why, Instant now);

  State state() const { return state_; }
  // It is refused because nothing listens at the service ID.
  bool is_service_unknown() const { return is_service_unknown_; }
  // Why it is refused or has ended.
  const std::string& problem() const { return problem_; }

  // ---- TaskPath ----
  void execute(const Task& task, TaskDone done) override;
  void reset_unit(scsi::Lun lun, TaskDone done) override;
  bool is_up() const override { return state_ == State::kUp; }

 private:
  struct Waiting {
    Task task{};
    TaskDone done;
    bool is_reset = false;
  };
  struct Sent {
    scsi::Lun lun{};
    TaskDone done;
    std::optional<std::uint32_t> key{};  // of the payload that is lent
    srp::Recovery recovery;
  };
  // Task management that is under way.
  struct Managed {
    scsi::Lun lun{};
    srp::TaskFunction function{};
    TaskDone done{};                 // of reset_unit()
    std::optional<srp::Tag> task{};  // whose recovery it is
    Instant deadline = kNever;       // of reset_unit()
  };

  bool send(std::span<const std::byte> iu) override { return endpoint_->send(iu); }
  void on_response(srp::Tag command, const srp::Response& response) override;
  void on_aborted(srp::Tag command) override;
  void on_managed(srp::Tag request, srp::TaskFunction function, srp::ResponseCode code) override;
  void on_async_event(scsi::Lun lun, const std::optional<scsi::Sense>& sense) override;
  void on_logout(const std::string& reason) override;
  void on_dropped(srp::Tag request) override;

  void send_waiting(Instant now);
  bool is_being_reset(scsi::Lun lun) const;
  bool send_task(const Waiting& waiting, Instant now);
  bool send_reset(const Waiting& waiting, Instant now);
  bool manage(srp::TaskFunction function, std::optional<srp::Tag> task, Managed managed);
  void give_back(srp::Tag command, const TaskResult& result);
  void recover_in_time(Instant now);
  // True: the login has to end.
  bool recover(srp::Tag command, Sent& sent, srp::Recovery::Step step, Instant now);
  void set_timer(Instant now);
  void refuse(std::string why);

  const TargetAddress address_;
  const Surroundings surroundings_;
  State state_ = State::kConnecting;
  std::string problem_;
  bool is_service_unknown_ = false;
  connection::ConnectionId connection_ = connection::ConnectionId::kNone;
  std::uint32_t starting_psn_ = 0;  // with which the target begins to send
  std::unique_ptr<host_verbs::ConnectionEndpoint> endpoint_;
  std::optional<srp::Session> session_;
  std::deque<Waiting> waiting_;
  std::map<srp::Tag, Sent> sent_;
  std::map<srp::Tag, Managed> managed_;
  std::string to_end_;  // why it has to end, after what runs now; empty: it has not
  Instant now_{};       // of the call that runs
  TimerId timer_ = TimerId::kNone;
};

}  // namespace paravane::storage
