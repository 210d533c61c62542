#include "api/vm_check_json.h"

#include <nlohmann/json.hpp>

#include "json/json_reader.h"

namespace paravane::api {

nlohmann::json to_json(const model::CheckRow& row) {
  return {{"check", row.check},
          {"verdict", model::to_string(row.verdict)},
          {"found", row.found},
          {"cure", row.cure},
          {"stops_start", row.stops_start}};
}

Result<model::CheckRow> check_row_from_json(const nlohmann::json& value) {
  JsonReader reader(value, "check");
  model::CheckRow row;
  row.check = reader.need_text("check");
  const auto verdict = model::parse_verdict(reader.need_text("verdict"));
  if (!verdict) reader.complain("verdict", "must be \"ok\", \"warning\" or \"failed\"");
  row.verdict = verdict.value_or(model::Verdict::kFailed);
  row.found = reader.need_text("found");
  row.cure = reader.need_text("cure");
  row.stops_start = reader.boolean("stops_start").value_or(false);
  if (const Status good = reader.finish_ignoring_unknown(); !good) {
    return std::unexpected(good.error());
  }
  return row;
}

}  // namespace paravane::api
