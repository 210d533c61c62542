// Event describes something that happened on this host and that an operator's tool may react to.
// docs/events.md lists the types of events.

#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace paravane::model {

enum class Severity : std::uint8_t {
  kInfo,     // the result of a request
  kWarning,  // something works less well, or not at the moment
  kError,    // something has ended that should not have
};
inline constexpr std::size_t kSeverities = 3;
std::string_view to_string(Severity severity);
std::optional<Severity> parse_severity(std::string_view text);

struct Event {
  std::string type;  // "vm.attached"
  Severity severity = Severity::kInfo;
  std::map<std::string, std::string> fields{};  // names of objects, and values: "vm", "host"
  std::string text{};                           // a sentence without a full stop
  std::uint64_t number = 0;                     // given by the EventLog, from 1
  std::chrono::system_clock::time_point time{};

  friend bool operator==(const Event&, const Event&) = default;
};

// RFC 3339 in UTC with milliseconds: "2026-11-22T16:14:38.000Z".
std::string format_time(std::chrono::system_clock::time_point time);
// What format_time() writes, and nothing else.
std::optional<std::chrono::system_clock::time_point> parse_time(std::string_view text);

}  // namespace paravane::model
