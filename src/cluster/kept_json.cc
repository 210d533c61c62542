#include "cluster/kept_json.h"

#include <nlohmann/json.hpp>

#include "authority/certificate.h"
#include "json/json_text.h"

namespace paravane::cluster {

using nlohmann::json;

namespace {

constexpr const char* kSum = "sum";

}  // namespace

std::string print_kept(const json& value) {
  json whole = value;
  whole[kSum] = authority::hash(print_json(value));
  return whole.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<json> parse_kept(std::string_view text) {
  Result<json> value = parse_json(text);
  if (!value) return value;
  if (!value->is_object()) return fail(Errc::kInvalidArgument, "not a JSON object");
  const auto sum = value->find(kSum);
  if (sum == value->end()) return value;
  const json kept = std::move(*sum);
  value->erase(kSum);
  if (kept == authority::hash(print_json(*value))) return value;
  return fail(Errc::kInvalidArgument, "its content does not match its checksum");
}

}  // namespace paravane::cluster
