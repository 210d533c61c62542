#include "json/json_text.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace paravane {

using nlohmann::json;

namespace {

// Finds a key that stands twice in one object; nlohmann keeps the last silently.
class DuplicateKeys {
 public:
  bool operator()(json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) open_.emplace_back();
    if (event == json::parse_event_t::object_end && !open_.empty()) open_.pop_back();
    if (event == json::parse_event_t::key && !open_.empty() && found_.empty()) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!open_.back().insert(key).second) found_ = key;
    }
    return true;
  }
  const std::string& found() const { return found_; }

 private:
  std::vector<std::set<std::string>> open_;
  std::string found_;
};

}  // namespace

Result<json> parse_json(std::string_view text) {
  DuplicateKeys duplicates;
  bool too_deep = false;
  json value = json::parse(
      text.begin(), text.end(),
      [&](int depth, json::parse_event_t event, json& parsed) {
        const bool opens =
            event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
        too_deep = too_deep || (opens && depth >= kMaxJsonDepth);
        return !too_deep && duplicates(event, parsed);  // false: it is not kept
      },
      false);
  if (too_deep) return fail(Errc::kInvalidArgument, "the JSON is nested too deeply");
  if (value.is_discarded()) return fail(Errc::kInvalidArgument, "not valid JSON");
  if (!duplicates.found().empty()) {
    return fail(Errc::kInvalidArgument, fmt::format("duplicate key \"{}\"", duplicates.found()));
  }
  return value;
}

std::string print_json(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace paravane
