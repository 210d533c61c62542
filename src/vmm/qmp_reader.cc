#include "vmm/qmp_reader.h"

#include <fmt/core.h>

#include "json/json_text.h"

namespace paravane::vmm {
namespace {

using nlohmann::json;

std::unexpected<Error> not_qmp() {
  return fail(Errc::kInvalidArgument, "invalid QMP message");
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? printable(found->get<std::string>()) : "";
}

Result<QmpMessage> read(std::string_view line) {
  using Kind = QmpMessage::Kind;
  auto value = parse_json(line);
  if (!value || !value->is_object()) return not_qmp();
  if (value->contains("QMP")) return QmpMessage{.kind = Kind::kGreeting};
  if (value->contains("return")) {
    return QmpMessage{.kind = Kind::kReturn, .value = std::move((*value)["return"])};
  }
  if (const auto error = value->find("error"); error != value->end() && error->is_object()) {
    return QmpMessage{.kind = Kind::kError, .text = text_of(*error, "desc")};
  }
  if (value->contains("event")) {
    return QmpMessage{.kind = Kind::kEvent, .text = text_of(*value, "event")};
  }
  return not_qmp();
}

}  // namespace

Status QmpReader::feed(std::string_view bytes) {
  bytes_ += bytes;
  if (bytes_.size() <= 2 * kMaxLine) return {};
  return fail(Errc::kInvalidArgument, "too much data from QEMU");
}

Result<std::optional<QmpMessage>> QmpReader::next() {
  const std::size_t end = bytes_.find('\n');
  if (end == std::string::npos) {
    if (bytes_.size() <= kMaxLine) return std::nullopt;
    return fail(Errc::kInvalidArgument,
                fmt::format("a line from QEMU is longer than {} bytes", kMaxLine));
  }
  auto message = read(std::string_view(bytes_).substr(0, end));
  bytes_.erase(0, end + 1);
  if (!message) return std::unexpected(message.error());
  return std::move(*message);
}

std::string printable(std::string_view text, std::size_t max) {
  std::string result(text.substr(0, max));
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f ||
        static_cast<unsigned char>(c) >= 0x80) {
      c = '?';
    }
  }
  return result;
}

}  // namespace paravane::vmm
