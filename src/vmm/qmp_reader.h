// QmpReader splits the bytes that a QEMU sends into QMP messages. It limits their size and does not
// trust them, because it is possible that the guest controls the QEMU.

#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paravane::vmm {

struct QmpMessage {
  enum class Kind : std::uint8_t { kGreeting, kReturn, kError, kEvent };
  Kind kind = Kind::kEvent;
  nlohmann::json value{};  // kReturn: what came back
  std::string text{};      // kError: why not; kEvent: which; printable
};

class QmpReader {
 public:
  static constexpr std::size_t kMaxLine = std::size_t{64} << 10;

  // Errors: kInvalidArgument; after that, no more messages can be read.
  Status feed(std::string_view bytes);
  // nullopt: no message is complete yet. Errors: kInvalidArgument (not QMP).
  Result<std::optional<QmpMessage>> next();

 private:
  std::string bytes_;
};

// Replaces characters that could move a terminal's cursor by '?', and truncates the text to `max`
// bytes.
std::string printable(std::string_view text, std::size_t max = 500);

}  // namespace paravane::vmm
