// Response: a target's answer to a command or to task management, as a value (r16a, 6.9).
//
// The answer is judged against what was asked: lengths that reach beyond the IU, and residual
// counts that the command cannot have, are errors, and the target is not to be believed any more.
// What the logical unit says in it (status, sense) may be anything.
//
// The count of an overflow says how many bytes more the device would have moved, so it may be
// greater than the command's length; that of an underflow may not.
//
// Pure functions; any thread. Nothing is allocated but the text of an error.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "scsi/request.h"
#include "scsi/sense.h"
#include "wire/srp/response.h"

namespace paravane::srp {

using wire::srp::ResponseCode;

struct Residual {
  enum class Kind : std::uint8_t {
    kNone,
    kUnderflow,  // so many bytes were not moved
    kOverflow,   // so many more would have been moved
  };
  Kind kind = Kind::kNone;
  scsi::Direction direction = scsi::Direction::kNone;
  std::uint32_t bytes = 0;

  friend bool operator==(const Residual&, const Residual&) = default;
};

struct Response {
  scsi::CommandStatus status = scsi::CommandStatus::kGood;
  Residual residual{};
  std::optional<scsi::Sense> sense{};
  // The target could not take the request as a command: `status` says nothing.
  std::optional<ResponseCode> failure{};

  // How many of the command's `length` bytes were moved, as the target says.
  std::uint32_t moved(std::uint32_t length) const {
    return residual.kind == Residual::Kind::kUnderflow ? length - residual.bytes : length;
  }
  // Whether all was done and all bytes were moved.
  bool is_complete() const {
    return !failure && residual.kind == Residual::Kind::kNone &&
           scsi::meaning_of(status, sense) == scsi::Meaning::kDone;
  }
  friend bool operator==(const Response&, const Response&) = default;
};

// `iu`: a whole IU. `direction`, `length`: of the command. REQUIRES: the IU is of kind kResponse
// and has sizeof(wire::srp::Response) bytes at least.
Result<Response> parse_response(std::span<const std::byte> iu, scsi::Direction direction,
                                std::uint32_t length);

// Of task management: the response code, in the fourth of at least four bytes. REQUIRES: likewise.
Result<ResponseCode> parse_management_response(std::span<const std::byte> iu);

}  // namespace paravane::srp
