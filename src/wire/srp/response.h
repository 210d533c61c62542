// Defines the IUs that a target sends after the login (r16a, 6.6 and 6.9 to 6.13), and those that
// answer its requests.
//
// Each that the target sends has a request limit delta at the same offset but the logout. Plain
// values; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/wire_int.h"
#include "wire/srp/opcode.h"

namespace paravane::wire::srp {

namespace response_flag {
inline constexpr std::uint8_t kResponseValid = 1U << 0;
inline constexpr std::uint8_t kSenseValid = 1U << 1;
inline constexpr std::uint8_t kOutOverflow = 1U << 2;
inline constexpr std::uint8_t kOutUnderflow = 1U << 3;
inline constexpr std::uint8_t kInOverflow = 1U << 4;
inline constexpr std::uint8_t kInUnderflow = 1U << 5;
}  // namespace response_flag

struct Response {  // 6.9; the response data follow, and then the sense data
  std::uint8_t opcode = static_cast<std::uint8_t>(Opcode::kResponse);
  std::uint8_t solicited = 0;
  std::array<std::uint8_t, 2> reserved{};
  Be32 request_limit_delta{};  // signed
  Be64 tag{};
  std::array<std::uint8_t, 2> reserved_2{};
  std::uint8_t flags = 0;  // response_flag
  std::uint8_t status = 0;
  Be32 out_residual{};
  Be32 in_residual{};
  Be32 sense_bytes{};
  Be32 response_bytes{};
};
static_assert(sizeof(Response) == 36);
static_assert(offsetof(Response, request_limit_delta) == 4);
static_assert(offsetof(Response, tag) == 8);
static_assert(offsetof(Response, flags) == 18);
static_assert(offsetof(Response, out_residual) == 20);
static_assert(offsetof(Response, sense_bytes) == 28);

struct ResponseData {
  std::array<std::uint8_t, 3> reserved{};
  std::uint8_t code = 0;
};
static_assert(sizeof(ResponseData) == 4);

enum class ResponseCode : std::uint8_t {
  kDone = 0x00,  // no failure; of task management: the function is complete
  kInvalidFields = 0x02,
  kNotSupported = 0x04,
  kFailed = 0x05,
};

struct TargetLogout {  // 6.6
  std::uint8_t opcode = static_cast<std::uint8_t>(Opcode::kTargetLogout);
  std::uint8_t solicited = 0;
  std::array<std::uint8_t, 2> reserved{};
  Be32 reason{};
  Be64 tag{};
};
static_assert(sizeof(TargetLogout) == 16);

enum class LogoutReason : std::uint32_t {
  kNone = 0,
  kInactive = 1,
  kInvalidOpcode = 2,
  kSpuriousResponse = 3,
  kAnotherLogin = 4,  // whose multi-channel action ends this one
  kBadOutFormat = 6,
  kBadInFormat = 7,
  kBadLength = 8,  // of an IU
};

struct CreditRequest {  // 6.10
  std::uint8_t opcode = static_cast<std::uint8_t>(Opcode::kCreditRequest);
  std::uint8_t solicited = 0;
  std::array<std::uint8_t, 2> reserved{};
  Be32 request_limit_delta{};
  Be64 tag{};
};
static_assert(sizeof(CreditRequest) == 16);

// Of a credit request, and of a report of an asynchronous event (6.11, 6.13).
struct Answer {
  std::uint8_t opcode = 0;
  std::array<std::uint8_t, 7> reserved{};
  Be64 tag{};
};
static_assert(sizeof(Answer) == 16);

struct AsyncEventRequest {  // 6.12; the sense data follow
  std::uint8_t opcode = static_cast<std::uint8_t>(Opcode::kAsyncEventRequest);
  std::uint8_t solicited = 0;
  std::array<std::uint8_t, 2> reserved{};
  Be32 request_limit_delta{};
  Be64 tag{};
  Be32 reserved_2{};
  Be64 lun{};
  Be32 sense_bytes{};
  Be32 reserved_3{};
};
static_assert(sizeof(AsyncEventRequest) == 36);
static_assert(offsetof(AsyncEventRequest, lun) == 20);
static_assert(offsetof(AsyncEventRequest, sense_bytes) == 28);

}  // namespace paravane::wire::srp
