#include "api/backup_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/base64.h"
#include "json/json_reader.h"

namespace paravane::api {

using nlohmann::json;

namespace {

std::string need_bytes(JsonReader& reader, const char* key) {
  auto bytes = base64_decode(reader.need_text(key));
  if (!bytes) reader.complain(key, "must be Base64");
  return bytes ? std::move(*bytes) : std::string();
}

// Of an answer: what is no text is left out.
std::vector<std::string> read_members(JsonReader& reader) {
  std::vector<std::string> members;
  const json* array = reader.array("members");
  if (array == nullptr) return members;
  for (const json& member : *array) {
    if (member.is_string()) members.push_back(member.get<std::string>());
  }
  return members;
}

json followed_to_json(const model::FollowedGeneration& followed) {
  json value = {
      {"name", followed.host}, {"counts", followed.counts}, {"problem", followed.problem}};
  if (followed.generation) value["generation"] = *followed.generation;
  return value;
}

model::FollowedGeneration read_followed(const json& value) {
  JsonReader reader(value, "host");
  return {.host = reader.text("name").value_or(""),
          .generation = reader.number("generation"),
          .counts = reader.boolean("counts").value_or(false),
          .problem = reader.text("problem").value_or("")};
}

}  // namespace

json to_json(const model::SealedBackup& backup) {
  return {{"backup", base64_encode(backup.sealed)}};
}

json to_json(const model::BackupRequest& asked) {
  return {{"backup", base64_encode(asked.sealed)}, {"passphrase", asked.passphrase}};
}

json to_json(const model::BackupSummary& summary) {
  return {{"cluster", summary.cluster},         {"host", summary.host},
          {"address", summary.address},         {"made_s", summary.made_s},
          {"version", summary.version},         {"generation", summary.generation},
          {"members", summary.members},         {"switches", summary.switches},
          {"port_groups", summary.port_groups}, {"replaces", summary.replaces}};
}

json to_json(const model::AcceptSummary& summary) {
  json others = json::array();
  for (const auto& other : summary.others) others.push_back(followed_to_json(other));
  return {{"cluster", summary.cluster},       {"host", summary.host},
          {"generation", summary.generation}, {"members", summary.members},
          {"switches", summary.switches},     {"port_groups", summary.port_groups},
          {"others", std::move(others)}};
}

Result<model::BackupRequest> backup_request_from_json(const json& value) {
  JsonReader reader(value, "request");
  model::BackupRequest asked{.sealed = need_bytes(reader, "backup"),
                             .passphrase = reader.need_text("passphrase")};
  if (const Status good = reader.finish(); !good) return std::unexpected(good.error());
  return asked;
}

Result<std::string> passphrase_from_json(const json& value) {
  JsonReader reader(value, "request");
  std::string passphrase = reader.need_text("passphrase");
  if (const Status good = reader.finish(); !good) return std::unexpected(good.error());
  return passphrase;
}

Result<model::SealedBackup> sealed_backup_from_json(const json& value) {
  JsonReader reader(value, "backup");
  model::SealedBackup backup{.sealed = need_bytes(reader, "backup")};
  if (const Status good = reader.finish_ignoring_unknown(); !good) {
    return std::unexpected(good.error());
  }
  return backup;
}

Result<model::BackupSummary> backup_summary_from_json(const json& value) {
  JsonReader reader(value, "backup");
  model::BackupSummary summary{.cluster = reader.need_text("cluster"),
                               .host = reader.need_text("host"),
                               .address = reader.text("address").value_or(""),
                               .made_s = reader.number("made_s").value_or(0),
                               .version = reader.text("version").value_or(""),
                               .generation = reader.number("generation").value_or(0),
                               .members = read_members(reader),
                               .switches = reader.number("switches").value_or(0),
                               .port_groups = reader.number("port_groups").value_or(0),
                               .replaces = reader.text("replaces").value_or("")};
  if (const Status good = reader.finish_ignoring_unknown(); !good) {
    return std::unexpected(good.error());
  }
  return summary;
}

Result<model::AcceptSummary> accept_summary_from_json(const json& value) {
  JsonReader reader(value, "summary");
  model::AcceptSummary summary{.cluster = reader.need_text("cluster"),
                               .host = reader.need_text("host"),
                               .generation = reader.need_number("generation"),
                               .members = read_members(reader),
                               .switches = reader.number("switches").value_or(0),
                               .port_groups = reader.number("port_groups").value_or(0)};
  if (const json* others = reader.array("others")) {
    for (const json& other : *others) {
      if (other.is_object()) summary.others.push_back(read_followed(other));
    }
  }
  if (const Status good = reader.finish_ignoring_unknown(); !good) {
    return std::unexpected(good.error());
  }
  return summary;
}

}  // namespace paravane::api
