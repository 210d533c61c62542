#include "storage/target_login.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "connection/reject_reason.h"
#include "srp/login.h"
#include "verbs/grh.h"
#include "wire/infiniband/communication.h"

namespace paravane::storage {
namespace {

constexpr std::uint8_t kMostReads = 16;  // of the target, at once
constexpr std::uint8_t kPeerRetries = 7;
constexpr std::uint64_t kLoginTag = 1;

template <std::size_t kSize>
std::vector<std::byte> as_vector(const std::array<std::byte, kSize>& bytes) {
  return {bytes.begin(), bytes.end()};
}

// A GID is an IP address: of the form ::ffff:a.b.c.d, the IPv4 address.
std::vector<std::byte> rdma_private_data(const verbs::Gid& from, const verbs::Gid& to,
                                         std::span<const std::byte> login) {
  wire::infiniband::IpAddressingHeader header;
  const bool is_ipv4 = verbs::is_ipv4_mapped(to);
  header.set_ip(is_ipv4 ? 4 : 6);
  const std::ptrdiff_t first = is_ipv4 ? 12 : 0;
  std::copy(from.raw.begin() + first, from.raw.end(), header.source.begin() + first);
  std::copy(to.raw.begin() + first, to.raw.end(), header.destination.begin() + first);
  const auto bytes = std::as_bytes(std::span(&header, 1));
  std::vector<std::byte> data(bytes.begin(), bytes.end());
  data.insert(data.end(), login.begin(), login.end());
  return data;
}

TaskResult result_of(const srp::Response& response) {
  if (response.failure) return {.kind = TaskResult::Kind::kOther};
  switch (response.status) {
    case scsi::CommandStatus::kGood:
    case scsi::CommandStatus::kConditionMet: {
      TaskResult result;
      if (response.residual.kind == srp::Residual::Kind::kUnderflow) {
        result.missing = response.residual.bytes;
      }
      return result;
    }
    case scsi::CommandStatus::kCheckCondition:
      if (!response.sense) return {.kind = TaskResult::Kind::kOther};
      return {.kind = TaskResult::Kind::kSense, .sense = *response.sense};
    case scsi::CommandStatus::kBusy:
    case scsi::CommandStatus::kTaskSetFull: return {.kind = TaskResult::Kind::kBusy};
    case scsi::CommandStatus::kReservationConflict: return {.kind = TaskResult::Kind::kConflict};
    case scsi::CommandStatus::kTaskAborted: return {.kind = TaskResult::Kind::kAborted};
    case scsi::CommandStatus::kAcaActive: break;
  }
  return {.kind = TaskResult::Kind::kOther};
}

}  // namespace

TargetLogin::TargetLogin(TargetAddress address, Surroundings surroundings)
    : address_(address), surroundings_(std::move(surroundings)) {}

TargetLogin::~TargetLogin() {
  end("it is not wanted any more", now_);
  surroundings_.timers.cancel(timer_);
}

Status TargetLogin::begin(std::uint32_t starting_psn, Instant now) {
  now_ = now;
  auto endpoint = host_verbs::ConnectionEndpoint::make(surroundings_.adapter, kMessages, now);
  if (!endpoint) return std::unexpected(endpoint.error());
  endpoint_ = std::move(*endpoint);
  starting_psn_ = starting_psn;
  const srp::LoginAsk ask{
      .tag = kLoginTag, .initiator = surroundings_.initiator, .target = address_.port_id()};
  const verbs::Gid& own = surroundings_.adapter.gid_towards(address_.gid);
  const std::vector<std::byte> private_data =
      address_.is_by_rdma ? rdma_private_data(own, address_.gid, srp::rdma_login_request(ask))
                          : as_vector(srp::login_request(ask));
  const auto connection = surroundings_.connections.connect({.remote_gid = address_.gid.raw,
                                                             .local_gid = own.raw,
                                                             .local_guid = surroundings_.local_guid,
                                                             .service = address_.service,
                                                             .local_qp = endpoint_->number(),
                                                             .starting_psn = starting_psn,
                                                             .responder_resources = kMostReads,
                                                             .initiator_depth = 1,
                                                             .retry_count = kPeerRetries,
                                                             .rnr_retry = kPeerRetries,
                                                             .private_data = private_data},
                                                            now);
  if (!connection) return std::unexpected(connection.error());
  connection_ = *connection;
  return {};
}

// ---- What the connection manager says ----

void TargetLogin::on_reply(const connection::Reply& reply, Instant now) {
  now_ = now;
  const srp::LoginAsk ask{
      .tag = kLoginTag, .initiator = surroundings_.initiator, .target = address_.port_id()};
  const auto terms = srp::parse_login_response(reply.private_data, ask);
  Status connected = terms ? Status() : std::unexpected(terms.error());
  if (connected) {
    connected = endpoint_->connect({.gid = address_.gid,
                                    .qpn = reply.remote_qp,
                                    .receive_psn = starting_psn_,
                                    .send_psn = reply.starting_psn,
                                    .max_reads = std::min(reply.initiator_depth, kMostReads)},
                                   now);
  }
  if (!connected) {
    surroundings_.connections.reject(connection_, wire::infiniband::reject_reason::kConsumer, {},
                                     now);
    return refuse("the target's answer to the login cannot be used: " + connected.error().message);
  }
  surroundings_.connections.ready_to_use(connection_, now);
  session_.emplace(*terms, kMostCommands, static_cast<srp::Sender&>(*this));
  state_ = State::kUp;
  surroundings_.wake();
}

void TargetLogin::on_rejected(const connection::Rejection& rejection) {
  if (state_ == State::kUp) return end("the target has rejected the connection", now_);
  if (rejection.reason == wire::infiniband::reject_reason::kConsumer) {
    const srp::LoginAsk ask{
        .tag = kLoginTag, .initiator = surroundings_.initiator, .target = address_.port_id()};
    const auto refusal = srp::parse_login_reject(rejection.private_data, ask);
    if (refusal) return refuse(refusal->sentence);
  }
  is_service_unknown_ = rejection.reason == wire::infiniband::reject_reason::kInvalidServiceId;
  refuse(connection::sentence_of(rejection.reason));
}

void TargetLogin::on_timed_out() {
  if (!surroundings_.adapter.way_to(address_.gid)) {
    return refuse(
        "no machine of the network answers for the target's address: check the address, and that "
        "of the storage adapter");
  }
  refuse("no answer to the login: check that the target runs, and that it is enabled");
}

void TargetLogin::on_disconnected(Instant now) {
  connection_ = connection::ConnectionId::kNone;
  end("the target has ended the connection", now);
}

void TargetLogin::refuse(std::string why) {
  state_ = State::kRefused;
  problem_ = std::move(why);
  connection_ = connection::ConnectionId::kNone;
  surroundings_.wake();
}

void TargetLogin::end(std::string why, Instant now) {
  if (state_ == State::kEnded) return;
  const bool was_up = state_ == State::kUp;
  if (state_ != State::kRefused) problem_ = std::move(why);
  state_ = State::kEnded;
  now_ = now;
  if (was_up && session_ && !session_->is_over()) session_->log_out();
  if (endpoint_) endpoint_->end(problem_, now);
  if (const auto id = std::exchange(connection_, connection::ConnectionId::kNone);
      id != connection::ConnectionId::kNone) {
    if (!was_up || !surroundings_.connections.disconnect(id, now)) {
      surroundings_.connections.forget(id, now);
    }
  }
  // The keys of all payloads end before any of the tasks is told: whatever hears of one may use its
  // payload anew.
  for (auto& [tag, sent] : sent_) {
    if (const auto key = std::exchange(sent.key, std::nullopt)) {
      surroundings_.adapter.end_loan(*key);
    }
  }
  if (session_) session_->drop_all(*this);
  for (Waiting& waiting : std::exchange(waiting_, {})) {
    waiting.done({.kind = TaskResult::Kind::kLost});
  }
  surroundings_.timers.cancel(std::exchange(timer_, TimerId::kNone));
  surroundings_.wake();
}

// ---- Tasks ----

void TargetLogin::execute(const Task& task, TaskDone done) {
  assert(is_up());
  waiting_.push_back({.task = task, .done = std::move(done)});
  surroundings_.wake();
}

void TargetLogin::reset_unit(scsi::Lun lun, TaskDone done) {
  assert(is_up());
  waiting_.push_back({.task = {.lun = lun}, .done = std::move(done), .is_reset = true});
  surroundings_.wake();
}

void TargetLogin::pump(Instant now, std::size_t limit) {
  if (state_ != State::kUp) return;
  now_ = now;
  endpoint_->deliver(limit, [this](std::span<const std::byte> iu) {
    if (!to_end_.empty()) return;
    if (Status taken = session_->receive(iu, *this); !taken) {
      to_end_ = "the target breaks the protocol: " + taken.error().message;
    }
  });
  if (to_end_.empty() && !endpoint_->problem().empty()) to_end_ = endpoint_->problem();
  if (to_end_.empty()) {
    session_->flush();
    recover_in_time(now);
  }
  if (to_end_.empty()) send_waiting(now);
  if (!to_end_.empty()) return end(std::exchange(to_end_, {}), now);
  set_timer(now);
}

void TargetLogin::send_waiting(Instant now) {
  while (!waiting_.empty() && to_end_.empty()) {
    Waiting& first = waiting_.front();
    if (first.is_reset ? !send_reset(first, now) : !send_task(first, now)) return;
    waiting_.pop_front();
  }
}

// A command that comes to a unit while it is reset may end in that without an answer.
bool TargetLogin::is_being_reset(scsi::Lun lun) const {
  return std::ranges::any_of(managed_, [lun](const auto& entry) {
    return entry.second.function == srp::TaskFunction::kLunReset && entry.second.lun == lun;
  });
}

bool TargetLogin::send_task(const Waiting& waiting, Instant now) {
  if (!session_->has_room() || is_being_reset(waiting.task.lun)) return false;
  const Task& task = waiting.task;
  // What memory lacks for is found before the command is sent: afterwards nothing may throw, or it
  // would be sent again.
  std::map<srp::Tag, Sent> made;
  made.emplace(srp::Tag::kNone, Sent{.lun = task.lun,
                                     .done = waiting.done,
                                     .key = {},
                                     .recovery = srp::Recovery(now, kPatience)});
  auto node = made.extract(made.begin());
  srp::DataPlace place;
  if (task.payload && task.request.bytes > 0) {
    const auto lent =
        endpoint_->lend(*task.payload, task.offset + task.request.bytes,
                        task.request.direction == scsi::Direction::kIn ? verbs::kAccessRemoteWrite
                                                                       : verbs::kAccessRemoteRead);
    if (!lent) {
      to_end_ = "memory cannot be lent to the target: " + lent.error().message;
      return false;
    }
    node.mapped().key = *lent;
    place = {.address = surroundings_.adapter.memory().payload(*task.payload).value + task.offset,
             .key = *lent,
             .bytes = task.request.bytes,
             .direction = task.request.direction};
  }
  const auto tag = session_->submit({.lun = task.lun, .cdb = task.request.cdb, .data = place});
  if (!tag) {
    if (node.mapped().key) surroundings_.adapter.end_loan(*node.mapped().key);
    return false;
  }
  node.key() = *tag;
  sent_.insert(std::move(node));
  return true;
}

bool TargetLogin::send_reset(const Waiting& waiting, Instant now) {
  if (!session_->can_manage()) return false;
  return manage(srp::TaskFunction::kLunReset, {},
                Managed{.lun = waiting.task.lun,
                        .function = srp::TaskFunction::kLunReset,
                        .done = waiting.done,
                        .deadline = now + kPatience.command});
}

bool TargetLogin::manage(srp::TaskFunction function, std::optional<srp::Tag> task,
                         Managed managed) {
  std::map<srp::Tag, Managed> made;
  const scsi::Lun lun = managed.lun;
  made.emplace(srp::Tag::kNone, std::move(managed));
  auto node = made.extract(made.begin());
  const auto tag = session_->manage(function, lun, task);
  if (!tag) return false;
  node.key() = *tag;
  managed_.insert(std::move(node));
  return true;
}

void TargetLogin::give_back(srp::Tag command, const TaskResult& result) {
  auto found = sent_.extract(command);
  if (found.empty()) return;
  Sent& sent = found.mapped();
  if (sent.key) surroundings_.adapter.end_loan(*sent.key);
  sent.done(result);
}

void TargetLogin::on_response(srp::Tag command, const srp::Response& response) {
  give_back(command, result_of(response));
}

void TargetLogin::on_aborted(srp::Tag command) {
  give_back(command, {.kind = TaskResult::Kind::kAborted});
}

void TargetLogin::on_managed(srp::Tag request, srp::TaskFunction function, srp::ResponseCode code) {
  auto found = managed_.extract(request);
  if (found.empty()) return;
  const Managed& managed = found.mapped();
  if (managed.done) {
    managed.done({.kind = code == srp::ResponseCode::kDone ? TaskResult::Kind::kGood
                                                           : TaskResult::Kind::kOther});
    return;
  }
  const auto sent = sent_.find(*managed.task);
  if (sent == sent_.end()) return;
  recover(sent->first, sent->second, sent->second.recovery.on_managed(function, now_), now_);
}

void TargetLogin::on_async_event(scsi::Lun /*lun*/, const std::optional<scsi::Sense>& sense) {
  if (sense && (sense->meaning() == scsi::Meaning::kReportedLunsChanged ||
                sense->meaning() == scsi::Meaning::kCapacityChanged)) {
    surroundings_.look_again();
  }
}

void TargetLogin::on_logout(const std::string& reason) {
  to_end_ = "the target has ended the login: " + reason;
}

void TargetLogin::on_dropped(srp::Tag request) {
  if (auto managed = managed_.extract(request); !managed.empty()) {
    if (managed.mapped().done) managed.mapped().done({.kind = TaskResult::Kind::kLost});
    return;
  }
  give_back(request, {.kind = TaskResult::Kind::kLost});
}

// ---- Answers that do not come ----

void TargetLogin::recover_in_time(Instant now) {
  for (auto& [tag, sent] : sent_) {
    if (recover(tag, sent, sent.recovery.due(now), now)) return;
  }
  const bool has_late_reset = std::ranges::any_of(
      managed_, [now](const auto& entry) { return entry.second.deadline <= now; });
  if (has_late_reset) to_end_ = "the target does not answer the reset of a logical unit";
}

bool TargetLogin::recover(srp::Tag command, Sent& sent, srp::Recovery::Step step, Instant now) {
  while (step != srp::Recovery::Step::kNone) {
    if (step == srp::Recovery::Step::kReconnect) {
      to_end_ = "the target does not answer";
      return true;
    }
    const bool is_abort = step == srp::Recovery::Step::kAbort;
    const auto function = is_abort ? srp::TaskFunction::kAbortTask : srp::TaskFunction::kLunReset;
    if (session_->can_manage() &&
        manage(function, is_abort ? std::optional(command) : std::nullopt,
               Managed{.lun = sent.lun, .function = function, .task = command})) {
      return false;
    }
    step = sent.recovery.on_not_sent(now);
  }
  return false;
}

void TargetLogin::set_timer(Instant now) {
  Instant next = kNever;
  for (const auto& [tag, sent] : sent_) next = std::min(next, sent.recovery.deadline());
  for (const auto& [tag, managed] : managed_) next = std::min(next, managed.deadline);
  surroundings_.timers.cancel(std::exchange(timer_, TimerId::kNone));
  if (next == kNever) return;
  timer_ = surroundings_.timers.set(std::max(next, now), [this](Instant) {
    timer_ = TimerId::kNone;
    surroundings_.wake();
  });
}

}  // namespace paravane::storage
