#include "api/impairment_json.h"

#include <nlohmann/json.hpp>

#include "json/json_reader.h"

namespace paravane::api {

using nlohmann::json;

namespace {

std::uint32_t read_share(JsonReader& reader, const char* key) {
  return static_cast<std::uint32_t>(reader.number(key, model::kPartsPerMillion).value_or(0));
}

model::Impairment read_impairment(JsonReader& reader) {
  model::Impairment impairment;
  impairment.vm = reader.need_text("vm");
  impairment.peer = reader.text("peer").value_or(impairment.peer);
  impairment.loss_ppm = read_share(reader, "loss_ppm");
  impairment.reorder_ppm = read_share(reader, "reorder_ppm");
  impairment.rnr_ppm = read_share(reader, "rnr_ppm");
  impairment.delay_us = reader.number("delay_us", model::kMaxImpairmentDelayUs).value_or(0);
  impairment.seed = reader.number("seed").value_or(impairment.seed);
  return impairment;
}

}  // namespace

json to_json(const model::Impairment& impairment) {
  return {{"vm", impairment.vm},
          {"peer", impairment.peer},
          {"loss_ppm", impairment.loss_ppm},
          {"reorder_ppm", impairment.reorder_ppm},
          {"rnr_ppm", impairment.rnr_ppm},
          {"delay_us", impairment.delay_us},
          {"seed", impairment.seed}};
}

json to_json(const model::ImpairmentStatus& status) {
  json result = to_json(status.spec);
  result["messages"] = status.messages;
  result["lost"] = status.lost;
  result["answers_lost"] = status.answers_lost;
  result["delayed"] = status.delayed;
  result["reordered"] = status.reordered;
  result["rnr"] = status.rnr;
  return result;
}

Result<model::Impairment> impairment_from_json(const json& value) {
  JsonReader reader(value, "impairment");
  model::Impairment impairment = read_impairment(reader);
  if (Status good = reader.finish(); !good) return std::unexpected(good.error());
  if (Status good = model::check_impairment(impairment); !good)
    return std::unexpected(good.error());
  impairment.peer = model::canonical_peer(impairment.peer);
  return impairment;
}

Result<model::ImpairmentStatus> impairment_status_from_json(const json& value) {
  JsonReader reader(value, "impairment");
  model::ImpairmentStatus status;
  status.spec = read_impairment(reader);
  status.messages = reader.need_number("messages");
  status.lost = reader.need_number("lost");
  status.answers_lost = reader.need_number("answers_lost");
  status.delayed = reader.need_number("delayed");
  status.reordered = reader.need_number("reordered");
  status.rnr = reader.need_number("rnr");
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return status;
}

}  // namespace paravane::api
