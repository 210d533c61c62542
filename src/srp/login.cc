#include "srp/login.h"

#include <fmt/core.h>

#include <bit>

#include "wire/roce/header_at.h"

namespace paravane::srp {
namespace {

using wire::srp::ChannelResult;
using wire::srp::Opcode;
using wire::srp::RejectReason;

Status check_answer(std::size_t has, std::size_t needs, std::uint8_t opcode, Opcode expected,
                    std::uint64_t tag, std::uint64_t asked) {
  if (has < needs)
    return fail(Errc::kIo, fmt::format("the target's answer to the login has {} bytes, and must "
                                       "have {}",
                                       has, needs));
  if (opcode != static_cast<std::uint8_t>(expected))
    return fail(Errc::kIo, fmt::format("the target answers the login with a message of kind "
                                       "0x{:02x}",
                                       opcode));
  if (tag != asked)
    return fail(Errc::kIo, fmt::format("the target answers a login with tag 0x{:x}, and not 0x{:x}",
                                       tag, asked));
  return {};
}

// `Answer`: its bytes that have come, and zeros for those that have not.
template <typename Answer>
Result<Answer> answer_of(std::span<const std::byte> bytes, Opcode opcode, const LoginAsk& ask) {
  Answer answer;
  if (bytes.size() >= sizeof answer) answer = wire::roce::header_at<Answer>(bytes);
  if (auto checked = check_answer(bytes.size(), sizeof answer, answer.opcode, opcode,
                                  answer.tag.get(), ask.tag);
      !checked) {
    return std::unexpected(checked.error());
  }
  return answer;
}

Status check_lengths(const wire::srp::LoginResponse& response) {
  const std::uint32_t ours = response.most_initiator_iu_bytes.get();
  const std::uint32_t theirs = response.most_target_iu_bytes.get();
  if (ours < wire::srp::kLeastIuBytes)
    return fail(Errc::kIo, fmt::format("the target takes messages of at most {} bytes; 64 is the "
                                       "least that SRP allows",
                                       ours));
  if (theirs < wire::srp::kLeastIuBytes || theirs > kMostTargetIuBytes)
    return fail(Errc::kIo, fmt::format("the target may send messages of {} bytes; 64 to {} are "
                                       "possible",
                                       theirs, kMostTargetIuBytes));
  return {};
}

}  // namespace

std::array<std::byte, sizeof(wire::srp::LoginRequest)> login_request(const LoginAsk& ask) {
  wire::srp::LoginRequest request{.flags = wire::srp::kChannelSingle};
  request.tag.set(ask.tag);
  request.request_iu_bytes.set(ask.iu_bytes);
  request.formats.set(wire::srp::kFormatDirect);
  request.initiator = ask.initiator;
  request.target = ask.target;
  return std::bit_cast<std::array<std::byte, sizeof request>>(request);
}

std::array<std::byte, sizeof(wire::srp::RdmaLoginRequest)> rdma_login_request(const LoginAsk& ask) {
  wire::srp::RdmaLoginRequest request{.flags = wire::srp::kChannelSingle};
  request.tag.set(ask.tag);
  request.formats.set(wire::srp::kFormatDirect);
  request.request_iu_bytes.set(ask.iu_bytes);
  request.initiator = ask.initiator;
  request.target = ask.target;
  return std::bit_cast<std::array<std::byte, sizeof request>>(request);
}

Result<LoginTerms> parse_login_response(std::span<const std::byte> bytes, const LoginAsk& ask) {
  const auto response = answer_of<wire::srp::LoginResponse>(bytes, Opcode::kLoginResponse, ask);
  if (!response) return std::unexpected(response.error());
  if (auto checked = check_lengths(*response); !checked) return std::unexpected(checked.error());
  const std::uint32_t limit = response->request_limit_delta.get();
  if (limit == 0 || limit > kMostRequestLimit)
    return fail(Errc::kIo, fmt::format("the target allows {} requests; 1 to {} are possible",
                                       static_cast<std::int32_t>(limit), kMostRequestLimit));
  if ((response->formats.get() & wire::srp::kFormatDirect) == 0)
    return fail(Errc::kUnsupported,
                fmt::format("the target supports no direct data buffer descriptors (formats "
                            "0x{:04x})",
                            response->formats.get()));
  const auto channel = static_cast<ChannelResult>(response->flags & wire::srp::kChannelResultBits);
  if (channel != ChannelResult::kNoneBefore && channel != ChannelResult::kTerminated)
    return fail(Errc::kIo, fmt::format("the target answers a login for a single channel with "
                                       "multi-channel result {}",
                                       static_cast<unsigned>(channel)));
  return LoginTerms{.request_limit = limit,
                    .most_initiator_iu_bytes = response->most_initiator_iu_bytes.get(),
                    .most_target_iu_bytes = response->most_target_iu_bytes.get(),
                    .ended_others = channel == ChannelResult::kTerminated};
}

Result<LoginRejection> parse_login_reject(std::span<const std::byte> bytes, const LoginAsk& ask) {
  const auto reject = answer_of<wire::srp::LoginReject>(bytes, Opcode::kLoginReject, ask);
  if (!reject) return std::unexpected(reject.error());
  return LoginRejection{.reason = reject->reason.get(),
                        .sentence = rejection_sentence(reject->reason.get(), ask.initiator)};
}

std::string rejection_sentence(std::uint32_t reason, const PortId& initiator) {
  switch (static_cast<RejectReason>(reason)) {
    case RejectReason::kUnableToEstablish:
      return "The target refuses the login without a reason. Look into the target's log.";
    case RejectReason::kInsufficientResources:
      return "The target refuses the login: it has no resources for it, or its port is not "
             "enabled. Enable the port at the target, or end other sessions there.";
    case RejectReason::kIuTooLong:
      return "The target refuses the login: the messages that were asked for are too long for it. "
             "Raise the target's limit (of LIO: srp_max_req_size).";
    case RejectReason::kUnableToAssociate:
      return "The target refuses the login: it does not have this target port. Compare id_ext and "
             "ioc_guid with those that the target shows.";
    case RejectReason::kUnsupportedFormat:
      return "The target refuses the login: it does not support direct data buffer descriptors. "
             "Use another target.";
    case RejectReason::kNoMultipleChannels:
      return "The target refuses the login: it allows one channel, and another session of this "
             "initiator has it. End that session at the target.";
    case RejectReason::kChannelLimit:
      return fmt::format(
          "The target refuses the login: it has as many sessions as it allows, or its access list "
          "does not have this initiator. Add {} to the access list of the target, or end other "
          "sessions there.",
          to_string(initiator));
  }
  return fmt::format(
      "The target refuses the login for reason 0x{:08x}, which SRP does not define. Look into the "
      "target's log.",
      reason);
}

}  // namespace paravane::srp
