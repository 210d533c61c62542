#include "srp/session.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "srp/logout.h"
#include "wire/roce/header_at.h"

namespace paravane::srp {
namespace {

using wire::srp::DescriptorFormat;
using wire::srp::Opcode;

// 6.8: data-out in the upper four bits, data-in in the lower four.
std::uint8_t formats_of(scsi::Direction direction) {
  constexpr auto kDirect = static_cast<std::uint8_t>(DescriptorFormat::kDirect);
  switch (direction) {
    case scsi::Direction::kNone: return 0;
    case scsi::Direction::kIn: return kDirect;
    case scsi::Direction::kOut: return kDirect << 4;
  }
  return 0;
}

struct DirectCommand {
  wire::srp::Command command{};
  wire::srp::DirectDescriptor data{};
};
static_assert(sizeof(DirectCommand) == wire::srp::kLeastIuBytes);

DirectCommand command_iu(const Command& command, Tag tag) {
  DirectCommand iu;
  iu.command.formats = formats_of(command.data.direction);
  iu.command.tag.set(static_cast<std::uint64_t>(tag));
  iu.command.lun.set(command.lun.address);
  iu.command.attribute = static_cast<std::uint8_t>(command.attribute);
  static_assert(sizeof iu.command.cdb == sizeof command.cdb);
  std::memcpy(iu.command.cdb.data(), command.cdb.data(), sizeof command.cdb);
  iu.data.address.set(command.data.address);
  iu.data.key.set(command.data.key);
  iu.data.bytes.set(command.data.bytes);
  return iu;
}

template <typename Iu>
std::span<const std::byte> bytes_of_iu(const Iu& iu) {
  return std::as_bytes(std::span(&iu, 1));
}

Status too_short(std::string_view what, std::size_t has) {
  return fail(Errc::kIo, fmt::format("the target sends {} of {} bytes", what, has));
}

}  // namespace

Session::Session(const LoginTerms& terms, std::size_t commands, Sender& sender)
    : sender_(sender),
      copy_(terms.most_target_iu_bytes),
      command_slots_(commands),
      credits_(terms.request_limit),
      reserve_(credits_ > 1 ? 1 : 0) {
  assert(commands > 0 && commands <= kMostCommands);
  free_.make_room(commands);
  for (std::uint32_t slot = 0; slot < commands; ++slot) free_.put(slot);
  waiting_.reserve(kMostWaiting);
}

// ---- Requests ----

bool Session::has_room() const {
  return !is_over_ && !free_.empty() && credits_ > reserve_;
}

std::optional<Tag> Session::submit(const Command& command) {
  assert(has_room());
  assert((command.data.direction == scsi::Direction::kNone) == (command.data.bytes == 0));
  flush();
  const std::uint32_t place = free_.take().value();
  const Tag tag = command_tag(generation_ + 1, place);
  const DirectCommand iu = command_iu(command, tag);
  const bool has_data = command.data.direction != scsi::Direction::kNone;
  if (!sender_.send(has_data ? bytes_of_iu(iu) : bytes_of_iu(iu.command))) {
    free_.put(place);
    return std::nullopt;
  }
  ++generation_;
  --credits_;
  ++commands_;
  command_slots_[place] = {.tag = tag,
                           .is_used = true,
                           .lun = command.lun,
                           .direction = command.data.direction,
                           .bytes = command.data.bytes};
  return tag;
}

bool Session::can_manage() const {
  return !is_over_ && management_ < kMostManagement && credits_ > 0;
}

std::optional<Tag> Session::manage(TaskFunction function, scsi::Lun lun, std::optional<Tag> task) {
  assert(can_manage());
  assert(function == TaskFunction::kLunReset || function == TaskFunction::kAbortTask);
  assert(task.has_value() == (function == TaskFunction::kAbortTask));
  flush();
  const auto slot = std::ranges::find(management_slots_, false, &Slot::is_used);
  const auto place = static_cast<std::size_t>(slot - management_slots_.begin());
  const Tag tag = management_tag(generation_ + 1, place);
  wire::srp::TaskManagement iu{.function = static_cast<std::uint8_t>(function)};
  iu.tag.set(static_cast<std::uint64_t>(tag));
  iu.lun.set(lun.address);
  iu.task.set(static_cast<std::uint64_t>(task.value_or(Tag::kNone)));
  if (!sender_.send(bytes_of_iu(iu))) return std::nullopt;
  ++generation_;
  --credits_;
  ++management_;
  *slot = {.tag = tag,
           .is_used = true,
           .lun = lun,
           .function = function,
           .task = task.value_or(Tag::kNone)};
  return tag;
}

template <typename Self>
auto Session::find(Self& self, Tag request) -> decltype(&self.management_slots_[0]) {
  const std::size_t place = slot_of(request);
  const std::span slots =
      is_management(request) ? std::span(self.management_slots_) : std::span(self.command_slots_);
  if (request == Tag::kNone || place >= slots.size() || slots[place].tag != request) return nullptr;
  return &slots[place];
}

bool Session::is_under_way(Tag request) const {
  const Slot* slot = find(*this, request);
  return slot != nullptr && slot->is_used;
}

void Session::end_command(Slot& slot, bool may_be_late) {
  slot.is_used = false;
  slot.may_be_late = may_be_late;
  --commands_;
  free_.put(static_cast<std::uint32_t>(slot_of(slot.tag)));
}

// ---- What the target sends ----

Status Session::receive(std::span<const std::byte> iu, SessionEvents& events) {
  if (is_over_) return fail(Errc::kBadState, "the target sends after the session's end");
  auto taken = take(iu, events);
  if (!taken) is_over_ = true;
  return taken;
}

Status Session::take(std::span<const std::byte> iu, SessionEvents& events) {
  if (iu.empty()) return too_short("a message", 0);
  if (iu.size() > copy_.size())
    return fail(Errc::kIo, fmt::format("the target sends a message of {} bytes, and has promised "
                                       "to send no more than {}",
                                       iu.size(), copy_.size()));
  std::ranges::copy(iu, copy_.begin());
  const std::span<const std::byte> copy = std::span(copy_).first(iu.size());
  const auto opcode = std::to_integer<std::uint8_t>(copy[0]);
  switch (static_cast<Opcode>(opcode)) {
    case Opcode::kResponse: return take_response(copy, events);
    case Opcode::kCreditRequest: return take_credit_request(copy);
    case Opcode::kAsyncEventRequest: return take_async_event(copy, events);
    case Opcode::kTargetLogout: return take_logout(copy, events);
    case Opcode::kLoginRequest:
    case Opcode::kTaskManagement:
    case Opcode::kCommand:
    case Opcode::kInitiatorLogout:
    case Opcode::kCreditResponse:
    case Opcode::kAsyncEventResponse:
    case Opcode::kLoginResponse:
    case Opcode::kLoginReject: break;
  }
  return fail(Errc::kIo, fmt::format("the target sends a message of kind 0x{:02x}", opcode));
}

Status Session::add_credits(std::uint32_t delta) {
  const std::int64_t sum = credits_ + static_cast<std::int32_t>(delta);
  if (sum > kMostCredits || sum < -kMostCredits)
    return fail(Errc::kIo, fmt::format("the target changes the number of requests that it allows "
                                       "by {} to {}",
                                       static_cast<std::int32_t>(delta), sum));
  credits_ = sum;
  if (credits_ > 1) reserve_ = 1;
  return {};
}

Status Session::take_response(std::span<const std::byte> iu, SessionEvents& events) {
  if (iu.size() < sizeof(wire::srp::Response)) return too_short("a response", iu.size());
  const auto header = wire::roce::header_at<wire::srp::Response>(iu);
  const auto tag = static_cast<Tag>(header.tag.get());
  Slot* slot = find(*this, tag);
  if (slot == nullptr)
    return fail(Errc::kIo, fmt::format("the target answers request 0x{:x}, which is not under way",
                                       header.tag.get()));
  if (!slot->is_used && !slot->may_be_late)
    return fail(Errc::kIo,
                fmt::format("the target answers request 0x{:x} after its end", header.tag.get()));
  if (auto added = add_credits(header.request_limit_delta.get()); !added) return added;
  return is_management(tag) ? take_management_response(iu, *slot, events)
                            : take_command_response(iu, *slot, events);
}

Status Session::take_command_response(std::span<const std::byte> iu, Slot& slot,
                                      SessionEvents& events) {
  const auto response = parse_response(iu, slot.direction, slot.bytes);
  if (!response) return std::unexpected(response.error());
  if (slot.may_be_late) {
    slot.may_be_late = false;
    return {};
  }
  const Tag tag = slot.tag;
  end_command(slot, false);
  events.on_response(tag, *response);
  return {};
}

Status Session::take_management_response(std::span<const std::byte> iu, Slot& slot,
                                         SessionEvents& events) {
  const auto code = parse_management_response(iu);
  if (!code) return std::unexpected(code.error());
  const Slot done = slot;
  slot.is_used = false;
  --management_;
  if (*code == ResponseCode::kDone) end_managed(done, events);
  events.on_managed(done.tag, done.function, *code);
  return {};
}

// The events may submit, to places that were free: only what was submitted before ends.
void Session::end_managed(const Slot& done, SessionEvents& events) {
  const auto end = [&](Slot& slot) {
    const Tag tag = slot.tag;
    end_command(slot, true);
    events.on_aborted(tag);
  };
  if (done.function == TaskFunction::kAbortTask) {
    Slot* slot = find(*this, done.task);
    if (slot != nullptr && slot->is_used && !is_management(done.task)) end(*slot);
    return;
  }
  for (Slot& slot : command_slots_) {
    if (slot.is_used && slot.lun == done.lun && generation_of(slot.tag) < generation_of(done.tag)) {
      end(slot);
    }
  }
}

Status Session::take_credit_request(std::span<const std::byte> iu) {
  using wire::srp::CreditRequest;
  if (iu.size() < sizeof(CreditRequest)) return too_short("a credit request", iu.size());
  const auto request = wire::roce::header_at<CreditRequest>(iu);
  if (auto added = add_credits(request.request_limit_delta.get()); !added) return added;
  return answer(Opcode::kCreditResponse, request.tag.get());
}

Status Session::take_async_event(std::span<const std::byte> iu, SessionEvents& events) {
  using wire::srp::AsyncEventRequest;
  if (iu.size() < sizeof(AsyncEventRequest))
    return too_short("an asynchronous event report", iu.size());
  const auto request = wire::roce::header_at<AsyncEventRequest>(iu);
  const std::span<const std::byte> rest = iu.subspan(sizeof request);
  const std::uint32_t bytes = request.sense_bytes.get();
  if (bytes > rest.size())
    return fail(Errc::kIo, fmt::format("an asynchronous event report says that it has {} bytes of "
                                       "sense data, and {} have come",
                                       bytes, rest.size()));
  if (auto added = add_credits(request.request_limit_delta.get()); !added) return added;
  if (auto answered = answer(Opcode::kAsyncEventResponse, request.tag.get()); !answered)
    return answered;
  events.on_async_event({.address = request.lun.get()}, scsi::parse_sense(rest.first(bytes)));
  return {};
}

Status Session::take_logout(std::span<const std::byte> iu, SessionEvents& events) {
  using wire::srp::TargetLogout;
  if (iu.size() < sizeof(TargetLogout)) return too_short("a logout", iu.size());
  is_over_ = true;
  events.on_logout(logout_sentence(wire::roce::header_at<TargetLogout>(iu).reason.get()));
  return {};
}

// ---- Answers to the target's requests, which cost no credit ----

Status Session::answer(Opcode opcode, std::uint64_t tag) {
  flush();
  wire::srp::Answer answer{.opcode = static_cast<std::uint8_t>(opcode)};
  answer.tag.set(tag);
  if (waiting_.empty() && sender_.send(bytes_of_iu(answer))) return {};
  if (waiting_.size() == kMostWaiting)
    return fail(Errc::kIo, fmt::format("the target sends requests and does not take the answers; "
                                       "{} wait",
                                       waiting_.size()));
  waiting_.push_back(std::bit_cast<std::array<std::byte, sizeof answer>>(answer));
  return {};
}

void Session::flush() {
  std::size_t sent = 0;
  while (sent < waiting_.size() && sender_.send(waiting_[sent])) ++sent;
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(sent));
}

// ---- The end ----

void Session::log_out() {
  if (is_over_) return;
  is_over_ = true;
  if (credits_ <= 0) return;
  wire::srp::InitiatorLogout iu;
  iu.tag.set(static_cast<std::uint64_t>(management_tag(++generation_, 0)));
  if (sender_.send(bytes_of_iu(iu))) --credits_;
}

void Session::drop_all(SessionEvents& events) {
  is_over_ = true;
  waiting_.clear();
  for (Slot& slot : command_slots_) {
    if (!slot.is_used) continue;
    end_command(slot, false);
    events.on_dropped(slot.tag);
  }
  for (Slot& slot : management_slots_) {
    if (!slot.is_used) continue;
    slot.is_used = false;
    --management_;
    events.on_dropped(slot.tag);
  }
}

}  // namespace paravane::srp
