#include "subnet/segment_table.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <span>

#include "base/memory_shortage.h"

namespace paravane::subnet {

using wire::infiniband::answer_to_segment;
using wire::infiniband::MadBytes;
using wire::infiniband::MadHeader;
using wire::infiniband::SegmentHeader;
using wire::infiniband::SegmentType;
namespace segment_status = wire::infiniband::segment_status;

namespace {

template <typename Machines>
SegmentState transfer_state(const Machines& machine) {
  return std::visit([](const auto& one) { return one.state(); }, machine);
}

template <typename Usages>
void drop_if_empty(Usages& usages, const typename Usages::key_type& key) {
  const auto found = usages.find(key);
  if (found != usages.end() && found->second.transfers == 0) usages.erase(found);
}

}  // namespace

SegmentTable::~SegmentTable() {
  if (room_ == nullptr) return;
  for (const Direction direction : {kReceives, kSends})
    room_->change(direction, used_[direction].bytes, 0);
}

SegmentTable::Key SegmentTable::key_of(const MadAddress& peer, const MadHeader& header,
                                       Direction direction) {
  return {.lid = peer.lid,
          .direction = direction,
          .qp = peer.qp,
          .gid = peer.global ? std::optional(peer.global->destination) : std::nullopt,
          .transaction = header.transaction.get(),
          .management_class = header.management_class,
          .method = header.method};
}

std::expected<void, SegmentRefusal> SegmentTable::send(const MadAddress& to,
                                                       std::vector<std::byte> mad,
                                                       std::uint64_t tag,
                                                       const SegmentSender::Options& options,
                                                       Instant now, std::uint64_t program) {
  if (!SegmentSender::can_send(mad)) return std::unexpected(SegmentRefusal::kNoSegments);
  if (mad.size() > limits_.bytes_of_mad) return std::unexpected(SegmentRefusal::kTooLong);
  MadHeader header;
  std::memcpy(&header, mad.data(), sizeof header);
  const Key key = key_of(to, header, kSends);
  if (const auto old = transfers_.find(key); old != transfers_.end()) {
    if (transfer_state(old->second.machine) == SegmentState::kRunning) {
      return std::unexpected(SegmentRefusal::kDuplicate);
    }
    erase(old);
  }
  if (has_too_many_bytes(key, program, mad.size()) || !make_room(to.lid, kSends)) {
    return std::unexpected(SegmentRefusal::kNoRoom);
  }
  SegmentSender::Options chosen = options;
  chosen.first_window = 1;
  Key asked = key;
  asked.direction = kReceives;
  asked.method ^= wire::infiniband::method::kResponse;
  if (const auto question = transfers_.find(asked); question != transfers_.end()) {
    chosen.first_window = std::get<SegmentReceiver>(question->second.machine).answer_window();
  }
  const auto at = insert(key, {.peer = to,
                               .tag = tag,
                               .program = program,
                               .machine = SegmentSender(std::move(mad), chosen)});
  const bool had_memory = runs_in_memory(
      [&] { drive(at, [now](auto& machine, MadList& out) { machine.begin(now, out); }); });
  if (had_memory) return {};
  if (const auto begun = transfers_.find(key); begun != transfers_.end()) erase(begun);
  throw std::bad_alloc();
}

SegmentTable::Transfers::iterator SegmentTable::insert(const Key& key, Transfer transfer) {
  const std::pair peer(key.lid, key.direction);
  const std::pair program(transfer.program, key.direction);
  Transfers::iterator at;
  const bool had_memory = runs_in_memory([&] {
    used_by_peer_.try_emplace(peer);
    used_by_program_.try_emplace(program);
    at = transfers_.try_emplace(key, std::move(transfer)).first;
  });
  if (had_memory) {
    for (Usage* usage :
         {&used_[key.direction], &used_by_peer_.at(peer), &used_by_program_.at(program)})
      ++usage->transfers;
    return at;
  }
  drop_if_empty(used_by_peer_, peer);
  drop_if_empty(used_by_program_, program);
  throw std::bad_alloc();
}

void SegmentTable::forget(std::uint64_t tag) {
  for (auto at = transfers_.begin(); at != transfers_.end();) {
    const auto one = at++;
    if (one->first.direction == kSends && one->second.tag == tag) erase(one);
  }
}

bool SegmentTable::on_packet(const MadAddress& from, const MadBytes& mad, Instant now,
                             std::uint64_t program) {
  if (!wire::infiniband::is_segment(mad)) return false;
  const auto give = [this, &mad, now](Transfers::iterator at) {
    drive(at, [&mad, now](auto& machine, MadList& out) { machine.on_packet(mad, now, out); });
    return true;
  };
  const MadHeader header = wire::infiniband::mad_header_of(mad);
  const SegmentHeader segment = wire::infiniband::segment_header_of(mad);
  const auto received = transfers_.find(key_of(from, header, kReceives));
  if (segment.version == wire::infiniband::kSegmentVersion && segment.type == SegmentType::kData) {
    if (received != transfers_.end()) return give(received);
    start(from, mad, now, program);
    return true;
  }
  // Mostly of the receiver of what is sent, whose method is that of the other direction; but a
  // sender may end, too, or allow a window for the answer.
  MadHeader opposite = header;
  opposite.method ^= wire::infiniband::method::kResponse;
  const auto sent = transfers_.find(key_of(from, opposite, kSends));
  if (sent != transfers_.end()) return give(sent);
  if (received != transfers_.end()) return give(received);
  if (const auto fault = SegmentReceiver::fault_of(mad)) {
    owner_.on_transmit(from, answer_to_segment(mad, SegmentType::kAbort, *fault));
  }
  return true;
}

void SegmentTable::start(const MadAddress& from, const MadBytes& mad, Instant now,
                         std::uint64_t program) {
  if (const auto fault = SegmentReceiver::fault_of(mad)) {
    return owner_.on_transmit(from, answer_to_segment(mad, SegmentType::kAbort, *fault));
  }
  if (wire::infiniband::segment_header_of(mad).number.get() != 1) return;
  if (!make_room(from.lid, kReceives)) {
    return owner_.on_transmit(
        from, answer_to_segment(mad, SegmentType::kStop, segment_status::kNoResources));
  }
  const Key key = key_of(from, wire::infiniband::mad_header_of(mad), kReceives);
  const SegmentReceiver::Options options{.most_bytes = limits_.bytes_of_mad};
  const auto at =
      insert(key, {.peer = from, .program = program, .machine = SegmentReceiver(mad, options)});
  drive(at, [now](auto& machine, MadList& out) { machine.begin(now, out); });
}

void SegmentTable::on_time(Instant now) {
  std::vector<Key> keys;
  for (const auto& [when, key] : due_) {
    if (when > now || keys.size() == kTurn) break;
    keys.push_back(key);
  }
  for (const Key& key : keys) {
    const auto at = transfers_.find(key);  // the owner may have forgotten it since
    if (at == transfers_.end()) continue;
    drive(at, [now](auto& machine, MadList& out) { machine.on_time(now, out); });
  }
}

template <typename Act>
void SegmentTable::drive(Transfers::iterator at, Act act) {
  Outcome outcome;
  const bool had_memory = runs_in_memory([&] {
    std::visit([&](auto& machine) { act(machine, outcome.out); }, at->second.machine);
    settle(at, outcome);
  });
  if (!had_memory) {
    erase(at);  // what it has done is not accounted for
    throw std::bad_alloc();
  }
  tell(std::move(outcome));
}

void SegmentTable::settle(Transfers::iterator at, Outcome& outcome) {
  Transfer& transfer = at->second;
  auto* receiver = std::get_if<SegmentReceiver>(&transfer.machine);
  account(at);
  if (receiver != nullptr && receiver->state() == SegmentState::kRunning &&
      has_too_many_bytes(at->first, transfer.program, 0)) {
    receiver->stop(outcome.out);
  }
  outcome.state = transfer_state(transfer.machine);
  outcome.is_end = !transfer.is_told && outcome.state != SegmentState::kRunning;
  outcome.direction = at->first.direction;
  outcome.peer = transfer.peer;
  outcome.tag = transfer.tag;
  bool lingers = true;
  if (receiver != nullptr) {
    if (outcome.is_end && outcome.state == SegmentState::kFinished)
      outcome.joined = receiver->take();
  } else {
    const auto& sender = std::get<SegmentSender>(transfer.machine);
    if (outcome.state == SegmentState::kFailed) outcome.failure = sender.failure();
    lingers = sender.lingers();
  }
  transfer.is_told = outcome.state != SegmentState::kRunning;
  const bool stays = outcome.state == SegmentState::kRunning ||
                     (outcome.state == SegmentState::kFinished && lingers);
  if (stays) {
    account(at);
  } else {
    erase(at);
  }
}

// The owner may change what there is.
void SegmentTable::tell(Outcome outcome) {
  // A packet without memory is lost as on its way.
  const bool had_memory = runs_in_memory([&] {
    for (const MadBytes& mad : outcome.out) owner_.on_transmit(outcome.peer, mad);
  });
  if (outcome.is_end) tell_end(std::move(outcome));
  if (!had_memory) throw std::bad_alloc();
}

void SegmentTable::tell_end(Outcome outcome) {
  if (outcome.direction == kSends) {
    if (outcome.state == SegmentState::kFailed)
      owner_.on_not_sent(outcome.tag, outcome.failure);
    else
      owner_.on_sent(outcome.tag);
  } else if (outcome.state == SegmentState::kFinished) {
    owner_.on_joined(outcome.peer, std::move(outcome.joined));
  }
}

bool SegmentTable::make_room(std::uint16_t lid, Direction direction) {
  const auto peer = used_by_peer_.find({lid, direction});
  if (peer != used_by_peer_.end() && peer->second.transfers >= limits_.transfers_of_peer &&
      !forget_finished_of(lid, direction)) {
    return false;
  }
  if (used_[direction].transfers < limits_.transfers) return true;
  if (finished_[direction].empty()) return false;
  erase(transfers_.find(finished_[direction].begin()->second));
  return true;
}

bool SegmentTable::forget_finished_of(std::uint16_t lid, Direction direction) {
  auto oldest = transfers_.end();
  for (auto at = transfers_.lower_bound(Key{.lid = lid, .direction = direction});
       at != transfers_.end() && at->first.lid == lid && at->first.direction == direction; ++at) {
    const Transfer& transfer = at->second;
    if (transfer_state(transfer.machine) != SegmentState::kFinished) continue;
    if (oldest == transfers_.end() || transfer.due < oldest->second.due) oldest = at;
  }
  if (oldest == transfers_.end()) return false;
  erase(oldest);
  return true;
}

bool SegmentTable::has_too_many_bytes(const Key& key, std::uint64_t program,
                                      std::size_t more) const {
  const auto peer = used_by_peer_.find({key.lid, key.direction});
  const std::size_t of_peer = peer == used_by_peer_.end() ? 0 : peer->second.bytes;
  const auto its = used_by_program_.find({program, key.direction});
  const std::size_t of_program = its == used_by_program_.end() ? 0 : its->second.bytes;
  return of_peer + more > limits_.bytes_of_peer || of_program + more > limits_.bytes_of_program ||
         used_[key.direction].bytes + more > limits_.bytes ||
         (room_ != nullptr && !room_->has(key.direction, more));
}

void SegmentTable::change_bytes(Transfers::iterator at, std::size_t bytes) {
  const Key& key = at->first;
  const std::size_t before = std::exchange(at->second.bytes, bytes);
  for (Usage* usage : {&used_[key.direction], &used_by_peer_.at({key.lid, key.direction}),
                       &used_by_program_.at({at->second.program, key.direction})})
    usage->bytes += bytes - before;
  if (room_ != nullptr) room_->change(key.direction, before, bytes);
}

void SegmentTable::account(Transfers::iterator at) {
  const auto& [key, transfer] = *at;
  const auto bytes = std::visit([](const auto& one) { return one.bytes(); }, transfer.machine);
  const auto due =
      std::visit([](const auto& one) { return one.next_deadline(); }, transfer.machine);
  change_bytes(at, bytes);
  due_.erase({transfer.due, key});
  finished_[key.direction].erase({transfer.due, key});
  at->second.due = due;
  if (due != kNever) due_.emplace(due, key);
  if (transfer_state(transfer.machine) == SegmentState::kFinished) {
    finished_[key.direction].emplace(due, key);
  }
}

void SegmentTable::erase(Transfers::iterator at) {
  const Key& key = at->first;
  const Transfer& transfer = at->second;
  due_.erase({transfer.due, key});
  finished_[key.direction].erase({transfer.due, key});
  change_bytes(at, 0);
  const std::pair peer(key.lid, key.direction);
  const std::pair program(transfer.program, key.direction);
  for (Usage* usage :
       {&used_[key.direction], &used_by_peer_.at(peer), &used_by_program_.at(program)})
    --usage->transfers;
  drop_if_empty(used_by_peer_, peer);
  drop_if_empty(used_by_program_, program);
  transfers_.erase(at);
}

}  // namespace paravane::subnet
