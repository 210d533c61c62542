#include "inventory/member_record.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "json/json_reader.h"
#include "json/json_text.h"
#include "model/fingerprint.h"
#include "model/vm.h"

namespace paravane::inventory {

using nlohmann::json;

namespace {

constexpr std::string_view kMembers = "members/";
constexpr std::size_t kMostKeys = 2;

std::unexpected<Error> no_record() {
  return fail(Errc::kInvalidArgument, "the document is not a valid member record");
}

}  // namespace

std::string member_document(const std::string& host) {
  return std::string(kMembers) + host;
}

std::optional<std::string> member_of_document(const std::string& name) {
  if (!name.starts_with(kMembers)) return std::nullopt;
  return name.substr(kMembers.size());
}

std::string print_member(const std::string& host, const MemberRecord& record) {
  return json{{"host", host}, {"joined", record.joined}, {"keys", record.keys}}.dump();
}

Result<MemberRecord> parse_member(const std::string& name, const std::string& text) {
  const auto value = parse_json(text);
  if (!value || !value->is_object()) return no_record();
  JsonReader reader(*value, "member");
  const std::string host = reader.need_text("host");
  MemberRecord record{.joined = reader.need_text("joined"), .keys = {}};
  const json* keys = reader.array("keys");
  if (!reader.finish_ignoring_unknown() || keys == nullptr || keys->size() > kMostKeys ||
      !model::check_name(host) || name != member_document(host)) {
    return no_record();
  }
  for (const json& key : *keys) {
    if (!key.is_string() || !model::is_fingerprint(key.get<std::string>())) return no_record();
    record.keys.push_back(key.get<std::string>());
  }
  if (record.keys.empty() ? !record.joined.empty() : !model::is_fingerprint(record.joined)) {
    return no_record();
  }
  return record;
}

std::string why_no_member(const MemberRecords& records, const std::string& host,
                          const std::string& key) {
  if (records.empty()) return {};
  const auto found = records.find(host);
  if (found == records.end()) return fmt::format("host {} is not a member of the cluster", host);
  const auto& keys = found->second.keys;
  if (keys.empty() || std::ranges::find(keys, key) != keys.end()) return {};
  return fmt::format("the machine that claims to be host {} does not have that member's key", host);
}

}  // namespace paravane::inventory
