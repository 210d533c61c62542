// What becomes of a device's requests when their commands are answered.

#include <utility>

#include "storage/device.h"

namespace paravane::storage {

using nbd::BlockOperation;
using nbd::BlockResult;

void Device::take_results(Instant now) {
  if (!has_results_) return;
  // A client that hears of one may end others.
  std::uint64_t number = 0;
  for (auto one = requests_.begin(); one != requests_.end(); one = requests_.upper_bound(number)) {
    number = one->first;
    if (!one->second.result) continue;
    const TaskResult result = *std::exchange(one->second.result, std::nullopt);
    // It is sent again unless something else becomes of it.
    set_state(one->second, State::kWaiting);
    judge(one, result, now);
  }
  has_results_ = false;
}

bool Device::may_have_changed_unit(const Request& request) const {
  return request.block.operation == BlockOperation::kWrite ||
         request.block.operation == BlockOperation::kTrim;
}

void Device::judge(Requests::iterator request, const TaskResult& result, Instant now) {
  switch (result.kind) {
    case TaskResult::Kind::kGood: return advance(request, result);
    case TaskResult::Kind::kSense: return judge_sense(request, result, now);
    case TaskResult::Kind::kBusy: return send_later(request, now);
    case TaskResult::Kind::kAborted: return send_again(request);
    case TaskResult::Kind::kConflict:
    case TaskResult::Kind::kOther: return finish(request, BlockResult::kIo);
    case TaskResult::Kind::kLost:
      if (may_have_changed_unit(request->second)) fence_.close();
      counters_.moved.add();
      if (request->second.client != client_number_ || client_ == nullptr) {
        return finish(request, BlockResult::kIo);
      }
      return;
  }
}

void Device::judge_sense(Requests::iterator request, const TaskResult& result, Instant now) {
  const UnitPath* path = paths_.working();
  switch (result.sense.meaning()) {
    case scsi::Meaning::kDone: return advance(request, result);
    case scsi::Meaning::kReportedLunsChanged:
    case scsi::Meaning::kCapacityChanged:
      if (path != nullptr) surroundings_.look_again(path->place);
      return send_again(request);
    case scsi::Meaning::kRetryAtOnce: return send_again(request);
    case scsi::Meaning::kRetryLater: return send_later(request, now);
    case scsi::Meaning::kLunGone:
      if (path != nullptr) {
        surroundings_.look_again(path->place);
        lose_path(path->place, result.sense.sentence());
      }
      return;
    case scsi::Meaning::kWriteProtected: return finish(request, BlockResult::kNotPermitted);
    case scsi::Meaning::kSpace: return finish(request, BlockResult::kNoSpace);
    case scsi::Meaning::kUnsupported:
      return finish(request, request->second.block.operation == BlockOperation::kTrim
                                 ? BlockResult::kNotSupported
                                 : BlockResult::kIo);
    case scsi::Meaning::kReservationConflict:
    case scsi::Meaning::kMediumError:
    case scsi::Meaning::kOutOfRange:
    case scsi::Meaning::kEarlierFailed:
    case scsi::Meaning::kFatal: return finish(request, BlockResult::kIo);
  }
}

// A command was carried out.
void Device::advance(Requests::iterator request, const TaskResult& result) {
  Request& one = request->second;
  if (result.missing > 0) return finish(request, BlockResult::kIo);
  one.done += one.piece;
  one.list.reset();
  one.retries = 0;
  one.busy_until = kNever;
  if (one.done >= one.block.length) return finish(request, BlockResult::kDone);
  if (one.client != client_number_ || client_ == nullptr) return finish(request, BlockResult::kIo);
}

void Device::send_again(Requests::iterator request) {
  if (++request->second.retries > kMostRetries) return finish(request, BlockResult::kIo);
  counters_.retried.add();
}

void Device::send_later(Requests::iterator request, Instant now) {
  Request& one = request->second;
  if (one.busy_until == kNever) one.busy_until = now + kMostBusy;
  if (now >= one.busy_until) return finish(request, BlockResult::kIo);
  counters_.retried.add();
  one.timer = surroundings_.timers.set(now + kBusyPause, [this, number = request->first](Instant) {
    Request& paused = requests_.at(number);
    paused.timer = TimerId::kNone;
    set_state(paused, State::kWaiting);
    surroundings_.wake();
  });
  set_state(one, State::kPaused);
}

void Device::count_done(const Request& request) {
  switch (request.block.operation) {
    case BlockOperation::kRead:
      counters_.reads.add();
      counters_.read_bytes.add(request.block.length);
      return;
    case BlockOperation::kWrite:
      counters_.writes.add();
      counters_.written_bytes.add(request.block.length);
      return;
    case BlockOperation::kFlush: counters_.flushes.add(); return;
    case BlockOperation::kTrim: counters_.trims.add(); return;
    case BlockOperation::kWriteZeroes: return;
  }
}

void Device::finish(Requests::iterator request, BlockResult result) {
  set_state(request->second, State::kOver);
  Request done = std::move(request->second);
  requests_.erase(request);
  if (result == BlockResult::kDone) {
    count_done(done);
  } else {
    counters_.failed.add();
  }
  if (client_ == nullptr || done.client != client_number_) return;
  client_->on_done(done.tag, result, std::move(done.block.buffer));
}

}  // namespace paravane::storage
