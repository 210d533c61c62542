// QmpReader: splits the bytes that a QEMU sends into QMP messages. The guest may have taken over
// the QEMU, so its output is bounded and treated as untrusted.

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

  // Errors: kInvalidArgument; then nothing more can be read.
  Status feed(std::string_view bytes);
  // Nothing: no message is whole yet. Errors: kInvalidArgument (not QMP).
  Result<std::optional<QmpMessage>> next();

 private:
  std::string bytes_;
};

// Characters that could move a terminal's cursor become '?'; cut at `max`.
std::string printable(std::string_view text, std::size_t max = 500);

}  // namespace paravane::vmm
