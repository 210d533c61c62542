#include "srp/response.h"

#include <fmt/core.h>

#include "wire/roce/header_at.h"

namespace paravane::srp {
namespace {

using scsi::Direction;
namespace flag = wire::srp::response_flag;

struct Parts {
  std::span<const std::byte> response{};
  std::span<const std::byte> sense{};
};

// A length counts only with its flag.
Result<Parts> parts_of(std::span<const std::byte> iu, const wire::srp::Response& header) {
  const std::uint64_t rest = iu.size() - sizeof header;
  const std::uint64_t response =
      (header.flags & flag::kResponseValid) != 0 ? header.response_bytes.get() : 0;
  const std::uint64_t sense =
      (header.flags & flag::kSenseValid) != 0 ? header.sense_bytes.get() : 0;
  if (response + sense > rest)
    return fail(Errc::kIo, fmt::format("a response says that it has {} bytes of response data and "
                                       "{} of sense data, and {} have come",
                                       response, sense, rest));
  const auto behind = iu.subspan(sizeof header);
  return Parts{
      .response = behind.first(static_cast<std::size_t>(response)),
      .sense = behind.subspan(static_cast<std::size_t>(response), static_cast<std::size_t>(sense))};
}

// Of one direction. `length`: what the command moves that way.
Result<Residual> residual_of(Direction direction, bool is_under, bool is_over, std::uint32_t count,
                             std::uint32_t length) {
  if (is_under && is_over)
    return fail(Errc::kIo, "a response says that too many and too few bytes were moved");
  if ((!is_under && !is_over) || count == 0) return Residual{};
  if (length == 0)
    return fail(Errc::kIo, fmt::format("a response counts {} residual bytes in a direction in "
                                       "which the command moves none",
                                       count));
  if (is_under && count > length)
    return fail(Errc::kIo,
                fmt::format("a response says that {} of {} bytes were not moved", count, length));
  return Residual{.kind = is_under ? Residual::Kind::kUnderflow : Residual::Kind::kOverflow,
                  .direction = direction,
                  .bytes = count};
}

Result<ResponseCode> code_of(std::span<const std::byte> data) {
  if (data.size() < sizeof(wire::srp::ResponseData))
    return fail(Errc::kIo, fmt::format("a response has {} bytes of response data, and must have {}",
                                       data.size(), sizeof(wire::srp::ResponseData)));
  return static_cast<ResponseCode>(wire::roce::header_at<wire::srp::ResponseData>(data).code);
}

}  // namespace

Result<Response> parse_response(std::span<const std::byte> iu, Direction direction,
                                std::uint32_t length) {
  const auto header = wire::roce::header_at<wire::srp::Response>(iu);
  const auto parts = parts_of(iu, header);
  if (!parts) return std::unexpected(parts.error());
  const auto has = [&](std::uint8_t bit) { return (header.flags & bit) != 0; };
  const auto out =
      residual_of(Direction::kOut, has(flag::kOutUnderflow), has(flag::kOutOverflow),
                  header.out_residual.get(), direction == Direction::kOut ? length : 0);
  if (!out) return std::unexpected(out.error());
  const auto in = residual_of(Direction::kIn, has(flag::kInUnderflow), has(flag::kInOverflow),
                              header.in_residual.get(), direction == Direction::kIn ? length : 0);
  if (!in) return std::unexpected(in.error());
  Response response{.status = static_cast<scsi::CommandStatus>(header.status),
                    .residual = direction == Direction::kOut ? *out : *in,
                    .sense = scsi::parse_sense(parts->sense)};
  if (has(flag::kResponseValid)) {
    const auto code = code_of(parts->response);
    if (!code) return std::unexpected(code.error());
    if (*code != ResponseCode::kDone) response.failure = *code;
  }
  return response;
}

Result<ResponseCode> parse_management_response(std::span<const std::byte> iu) {
  const auto header = wire::roce::header_at<wire::srp::Response>(iu);
  const auto parts = parts_of(iu, header);
  if (!parts) return std::unexpected(parts.error());
  if ((header.flags & flag::kResponseValid) == 0)
    return fail(Errc::kIo, "a response to task management has no response data");
  return code_of(parts->response);
}

}  // namespace paravane::srp
