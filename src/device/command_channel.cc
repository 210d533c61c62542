#include "device/command_channel.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/log.h"
#include "base/memory_shortage.h"
#include "device/journal/kernel_journal.h"
#include "device/registers.h"
#include "device/turn_effort.h"

namespace paravane::device {
namespace {

constexpr std::uint8_t kErrInvalid = 22;
constexpr std::uint32_t kCommandEffort = 8;  // what the smallest takes

std::uint32_t register_error(const Error& error) {
  return error.code == Errc::kUnsupported ? kErrorUnsupported : kErrorInvalid;
}

// What a command comes to that breaks off for want of it. (A text that is short enough needs none.)
std::unexpected<Error> without_memory() {
  return fail(Errc::kResourceExhausted, "no memory");
}

}  // namespace

CommandChannel::CommandChannel(const CommandScope& scope, InterruptLines& lines,
                               const TurnClock& clock)
    : scope_(scope), lines_(lines), clock_(clock) {
  scope_.later = &long_command_;
}

std::uint32_t CommandChannel::submit() {
  // The waiter for the last response has gone.
  reset();
  lines_.forget(abi::kVectorResponse);

  response_ = {};
  if (scope_.journal != nullptr) [[unlikely]]
    scope_.journal->begin_command();
  scope_.counters.commands.add();
  scope_.effort.spend(kCommandEffort);
  if (!scope_.memory.copy_in(scope_.region.command_slot, request_.bytes)) {
    scope_.counters.failed_commands.add();
    return kErrorBadAddress;
  }
  const auto header = request_.as<abi::CommandHeader>();
  const CommandRow* row = find_command(header.cmd.get());
  if (row == nullptr) {
    scope_.counters.failed_commands.add();
    return kErrorInvalid;
  }
  std::ranges::fill(std::span(request_.bytes).subspan(row->request_bytes), std::byte{0});
  return accept(*row);
}

std::uint32_t CommandChannel::accept(const CommandRow& row) {
  row_ = &row;
  scope_.now = clock_.now;
  Result<Progress> outcome = Progress::kDone;
  const bool fits = runs_in_memory([&] { outcome = row.handler(scope_, request_, response_); });
  if (!fits) outcome = without_memory();
  if (row.reply == Reply::kNone || row.reply == Reply::kRefused) {
    note_end();
    if (outcome) return kErrorNone;
    note_refusal(outcome.error());
    return register_error(outcome.error());
  }
  finish(outcome);
  return kErrorNone;
}

void CommandChannel::poll() {
  if (std::exchange(begins_again_, false)) static_cast<void>(accept(*row_));
  if (long_command_ == nullptr) return;
  // A slice at least, whatever else the turn has done: the guest waits.
  Result<Progress> outcome = Progress::kLater;
  std::uint32_t before = 0;
  do {
    before = scope_.effort.spent();
    if (!runs_in_memory([&] { outcome = long_command_->advance(response_); })) {
      outcome = without_memory();
    }
    if (!outcome || *outcome == Progress::kDone) break;
  } while (scope_.effort.spent() > before && scope_.effort.room_for_slice());
  if (outcome && *outcome == Progress::kLater) return;
  long_command_.reset();
  finish(outcome);
}

void CommandChannel::finish(const Result<Progress>& outcome) {
  if (outcome && *outcome == Progress::kLater) return;
  if (!outcome) {
    note_refusal(outcome.error());
    response_ = {};
  }
  const auto command = request_.as<abi::CommandHeader>();
  auto header = abi::ResponseHeader{};
  header.response = command.response;
  if (outcome || row_->reply == Reply::kAckErr) header.ack.set(abi::kAckBit | command.cmd.get());
  if (!outcome && row_->reply == Reply::kAckErr) header.err = kErrInvalid;
  response_.set(header);
  if (deliver() || !outcome || row_->undo == nullptr) return;
  row_->undo(scope_, response_);  // the guest will never learn the handle
}

inline bool CommandChannel::deliver() {
  if (!scope_.memory.copy_out(scope_.region.response_slot, response_.bytes)) return false;
  note_end();
  lines_.raise(abi::kVectorResponse);
  return true;
}

void CommandChannel::note_end() const {
  if (scope_.journal != nullptr) [[unlikely]]
    scope_.journal->end_command();
}

void CommandChannel::note_refusal(const Error& error) {
  scope_.counters.failed_commands.add();
  if (error.code == Errc::kResourceExhausted) scope_.counters.quota_refusals.add();
  const auto kept_back = log_limit_.allow(clock_.now);
  if (!kept_back) return;
  log::warn("{}: {} refused: {}{}", scope_.config.name, row_->name, error.message,
            kept_back_note(*kept_back));
}

}  // namespace paravane::device
