#include "testing/fake_srp_target.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "wire/roce/header_at.h"
#include "wire/scsi/command.h"
#include "wire/scsi/data.h"

namespace paravane::fake {
namespace {

using wire::roce::header_at;
using wire::srp::Opcode;
namespace flag = wire::srp::response_flag;

constexpr std::uint16_t kFormats = wire::srp::kFormatDirect | wire::srp::kFormatIndirect;

template <typename Iu>
std::vector<std::byte> bytes_of_answer(const Iu& iu) {
  const auto bytes = std::as_bytes(std::span(&iu, 1));
  return {bytes.begin(), bytes.end()};
}

struct AskedLogin {
  std::uint64_t tag = 0;
  std::uint32_t iu_bytes = 0;
};

AskedLogin login_of(std::span<const std::byte> request) {
  if (request.size() >= sizeof(wire::srp::LoginRequest)) {
    const auto login = header_at<wire::srp::LoginRequest>(request);
    return {.tag = login.tag.get(), .iu_bytes = login.request_iu_bytes.get()};
  }
  const auto login = header_at<wire::srp::RdmaLoginRequest>(request);
  return {.tag = login.tag.get(), .iu_bytes = login.request_iu_bytes.get()};
}

scsi::Cdb cdb_of(const wire::srp::Command& command) {
  return std::bit_cast<scsi::Cdb>(command.cdb);
}

bool is_write(const wire::srp::Command& command) {
  return (command.formats >> 4) != 0;
}

}  // namespace

FakeSrpTarget::FakeSrpTarget(RemoteMemory& memory, Deliver deliver)
    : memory_(memory), deliver_(std::move(deliver)) {}

std::vector<std::byte> FakeSrpTarget::log_in(std::span<const std::byte> request,
                                             std::uint32_t limit) {
  const AskedLogin login = login_of(request);
  iu_bytes_ = login.iu_bytes;
  wire::srp::LoginResponse response;
  response.tag.set(login.tag);
  response.request_limit_delta.set(limit);
  response.most_initiator_iu_bytes.set(login.iu_bytes);
  response.most_target_iu_bytes.set(login.iu_bytes);
  response.formats.set(kFormats);
  return bytes_of_answer(response);
}

std::vector<std::byte> FakeSrpTarget::reject(std::span<const std::byte> request,
                                             std::uint32_t reason) const {
  wire::srp::LoginReject reject;
  reject.tag.set(login_of(request).tag);
  reject.reason.set(reason);
  reject.formats.set(kFormats);
  return bytes_of_answer(reject);
}

void FakeSrpTarget::receive(std::span<const std::byte> iu) {
  if (iu.empty() || iu.size() > iu_bytes_) {
    ++bad_requests;
    return;
  }
  const auto opcode = static_cast<Opcode>(iu[0]);
  if (opcode == Opcode::kCommand) return take_command(iu);
  if (opcode == Opcode::kTaskManagement) return take_management(iu);
  if (opcode == Opcode::kInitiatorLogout) {
    heard_logout = true;
  } else if (opcode == Opcode::kCreditResponse || opcode == Opcode::kAsyncEventResponse) {
    ++answers_heard;
  } else {
    ++bad_requests;
  }
}

void FakeSrpTarget::take_command(std::span<const std::byte> iu) {
  Held held;
  if (iu.size() < sizeof held.command) {
    ++bad_requests;
    return;
  }
  held.command = header_at<wire::srp::Command>(iu);
  if (held.command.formats != 0) {
    if (iu.size() < sizeof held.command + sizeof(wire::srp::DirectDescriptor)) {
      ++bad_requests;
      return;
    }
    held.data = header_at<wire::srp::DirectDescriptor>(iu, sizeof held.command);
  }
  if (is_holding_) {
    held_.push_back(held);
  } else {
    execute(held);
  }
}

void FakeSrpTarget::release() {
  is_holding_ = false;
  for (std::deque<Held> held = std::exchange(held_, {}); !held.empty(); held.pop_front())
    execute(held.front());
}

void FakeSrpTarget::take_management(std::span<const std::byte> iu) {
  if (iu.size() < sizeof(wire::srp::TaskManagement)) {
    ++bad_requests;
    return;
  }
  const auto request = header_at<wire::srp::TaskManagement>(iu);
  if (!management_answer) return;
  auto code = *management_answer;
  const bool is_abort =
      request.function == static_cast<std::uint8_t>(wire::srp::TaskFunction::kAbortTask);
  if (code == wire::srp::ResponseCode::kDone) {
    const std::size_t ended = std::erase_if(held_, [&](const Held& held) {
      return is_abort ? held.command.tag == request.task : held.command.lun == request.lun;
    });
    credits_owed_ += static_cast<std::int32_t>(ended);
    // As LIO answers for a task that it does not have.
    if (is_abort && ended == 0) code = wire::srp::ResponseCode::kFailed;
  }
  wire::srp::Response response{.flags = flag::kResponseValid};
  response.tag = request.tag;
  response.request_limit_delta.set(static_cast<std::uint32_t>(1 + std::exchange(credits_owed_, 0)));
  const wire::srp::ResponseData data{.code = static_cast<std::uint8_t>(code)};
  std::span<const std::byte> bytes = std::as_bytes(std::span(&data, 1));
  if (lie_ == SrpLie::kNoResponseData) response.flags = 0;
  if (lie_ == SrpLie::kNoResponseData) bytes = {};
  if (lie_ == SrpLie::kShortResponseData) bytes = bytes.first(3);
  send(response, bytes, {});
}

void FakeSrpTarget::execute(const Held& held) {
  const std::uint32_t length = held.data ? held.data->bytes.get() : 0;
  std::vector<std::byte> out(is_write(held.command) ? length : 0);
  if (!out.empty() && !memory_.read(held.data->address.get(), held.data->key.get(), out)) {
    ++bad_accesses;
    return;
  }
  const DiskAnswer answer = execute_on(held.command, out);
  if (is_write(held.command))
    return respond(held, answer, static_cast<std::uint32_t>(std::min(answer.taken, out.size())));
  const std::size_t moved = std::min<std::size_t>(answer.data.size(), length);
  if (moved > 0 && !memory_.write(held.data->address.get(), held.data->key.get(),
                                  std::span(answer.data).first(moved))) {
    ++bad_accesses;
    return;
  }
  respond(held, answer, static_cast<std::uint32_t>(moved));
}

DiskAnswer FakeSrpTarget::execute_on(const wire::srp::Command& command,
                                     std::span<const std::byte> out) const {
  const scsi::Cdb cdb = cdb_of(command);
  if (static_cast<wire::scsi::Operation>(cdb[0]) == wire::scsi::Operation::kReportLuns)
    return report_luns(cdb);
  const auto number = scsi::Lun{.address = command.lun.get()}.number();
  const auto disk = number ? disks_.find(*number) : disks_.end();
  if (disk != disks_.end()) return disk->second->execute(cdb, out);
  return {.status = wire::scsi::Status::kCheckCondition,
          .sense = fixed_sense({.key = wire::scsi::SenseKey::kIllegalRequest, .asc = 0x25})};
}

DiskAnswer FakeSrpTarget::report_luns(const scsi::Cdb& cdb) const {
  wire::scsi::LunListHeader header;
  header.bytes.set(static_cast<std::uint32_t>(disks_.size() * sizeof(Be64)));
  DiskAnswer answer{.data = bytes_of_answer(header)};
  for (const auto& [number, disk] : disks_) {
    const auto lun = bytes_of_answer(Be64(scsi::Lun::of(number).address));
    answer.data.insert(answer.data.end(), lun.begin(), lun.end());
  }
  const std::size_t most = header_at<wire::scsi::ReportLunsCdb>(cdb).length.get();
  if (answer.data.size() > most) answer.data.resize(most);
  return answer;
}

void FakeSrpTarget::respond(const Held& held, const DiskAnswer& answer, std::uint32_t moved) {
  const std::uint32_t length = held.data ? held.data->bytes.get() : 0;
  wire::srp::Response response{.status = static_cast<std::uint8_t>(answer.status)};
  response.tag = held.command.tag;
  response.request_limit_delta.set(static_cast<std::uint32_t>(1 + std::exchange(credits_owed_, 0)));
  const bool is_out = is_write(held.command);
  std::uint32_t residual = length - moved;
  bool is_said_out = is_out;
  std::uint8_t more = 0;
  if (lie_ == SrpLie::kResidualBeyond) residual = length + 1;
  if (lie_ == SrpLie::kResidualElsewhere) {
    residual = 1;
    is_said_out = !is_out;
  }
  if (lie_ == SrpLie::kResidualBoth) {
    residual = 1;
    more = flag::kOutOverflow | flag::kOutUnderflow | flag::kInOverflow | flag::kInUnderflow;
  }
  if (residual > 0) {
    response.flags =
        static_cast<std::uint8_t>(more | (is_said_out ? flag::kOutUnderflow : flag::kInUnderflow));
    (is_said_out ? response.out_residual : response.in_residual).set(residual);
  }
  send(response, {}, answer.sense);
}

void FakeSrpTarget::send(wire::srp::Response header, std::span<const std::byte> response,
                         std::span<const std::byte> sense) {
  const SrpLie lie = std::exchange(lie_, SrpLie::kNone);
  sense = sense.first(std::min(sense.size(), iu_bytes_ - sizeof header - response.size()));
  header.response_bytes.set(static_cast<std::uint32_t>(response.size()));
  header.sense_bytes.set(static_cast<std::uint32_t>(sense.size()));
  if (!sense.empty()) header.flags |= flag::kSenseValid;
  if (lie == SrpLie::kOtherTag) header.tag.set(header.tag.get() ^ 0x7FFF);
  if (lie == SrpLie::kOlderTag) header.tag.set(header.tag.get() - 0x1'0000);
  if (lie == SrpLie::kOpcode) header.opcode = static_cast<std::uint8_t>(Opcode::kCommand);
  if (lie == SrpLie::kCreditsBeyond) header.request_limit_delta.set(0x7FFF'FFFF);
  if (lie == SrpLie::kCreditsBelow) header.request_limit_delta.set(0x8000'0000);
  if (lie == SrpLie::kSenseBeyond) {
    header.flags |= flag::kSenseValid;
    header.sense_bytes.set(static_cast<std::uint32_t>(sense.size() + 1));
  }
  if (lie == SrpLie::kLengthsWrap) {
    header.flags |= flag::kSenseValid | flag::kResponseValid;
    header.sense_bytes.set(0xFFFF'FFF0);
    header.response_bytes.set(0x10);
  }
  std::vector<std::byte> iu = bytes_of_answer(header);
  iu.insert(iu.end(), response.begin(), response.end());
  iu.insert(iu.end(), sense.begin(), sense.end());
  if (lie == SrpLie::kCut) iu.resize(sizeof header - 1);
  if (lie == SrpLie::kLong) iu.resize(iu_bytes_ + 1);
  deliver_(iu);
  if (lie == SrpLie::kTwice) deliver_(iu);
}

void FakeSrpTarget::ask_for_credits(std::int32_t delta, std::uint64_t tag) {
  wire::srp::CreditRequest request;
  request.request_limit_delta.set(static_cast<std::uint32_t>(delta));
  request.tag.set(tag);
  deliver_(bytes_of_answer(request));
}

void FakeSrpTarget::report_event(scsi::Lun lun, const SenseCode& code, std::uint64_t tag) {
  const std::vector<std::byte> sense = fixed_sense(code);
  wire::srp::AsyncEventRequest request;
  request.tag.set(tag);
  request.lun.set(lun.address);
  request.sense_bytes.set(static_cast<std::uint32_t>(sense.size()));
  std::vector<std::byte> iu = bytes_of_answer(request);
  iu.insert(iu.end(), sense.begin(), sense.end());
  deliver_(iu);
}

void FakeSrpTarget::log_out(wire::srp::LogoutReason reason) {
  wire::srp::TargetLogout logout;
  logout.reason.set(static_cast<std::uint32_t>(reason));
  deliver_(bytes_of_answer(logout));
}

}  // namespace paravane::fake
