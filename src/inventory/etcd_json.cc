#include "inventory/etcd_json.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/base64.h"
#include "json/json_text.h"

namespace paravane::inventory {

using nlohmann::json;

namespace {

std::unexpected<Error> odd(std::string_view what) {
  return fail(Errc::kInvalidArgument, "etcd's response has an invalid " + std::string(what));
}

const json* find(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

bool read_bool(const json& object, const char* key) {
  const json* value = find(object, key);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

std::string read_text(const json& object, const char* key) {
  const json* value = find(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : "";
}

Result<std::string> read_bytes(const json& object, const char* key) {
  const json* value = find(object, key);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return odd(key);
  auto bytes = base64_decode(value->get_ref<const std::string&>());
  if (!bytes) return odd(key);
  return std::move(*bytes);
}

// "header":{"revision":"7"}
Result<std::int64_t> read_revision(const json& answer) {
  const json* header = find(answer, "header");
  if (header == nullptr || !header->is_object()) return odd("header");
  return read_int64(*header, "revision");
}

Result<KeyValue> read_pair(const json& object) {
  KeyValue pair;
  for (const auto& [name, target] :
       {std::pair("key", &pair.key), std::pair("value", &pair.value)}) {
    auto bytes = read_bytes(object, name);
    if (!bytes) return std::unexpected(bytes.error());
    *target = std::move(*bytes);
  }
  for (const auto& [name, target] :
       {std::pair("create_revision", &pair.create_revision),
        std::pair("mod_revision", &pair.mod_revision), std::pair("lease", &pair.lease)}) {
    const auto number = read_int64(object, name);
    if (!number) return std::unexpected(number.error());
    *target = *number;
  }
  if (pair.key.empty()) return odd("key");
  return pair;
}

Result<WatchEvent> read_event(const json& object) {
  const json* kv = find(object, "kv");
  if (kv == nullptr) return odd("event");
  auto pair = read_pair(*kv);
  if (!pair) return std::unexpected(pair.error());
  const std::string type = read_text(object, "type");
  if (!type.empty() && type != "PUT" && type != "DELETE") return odd("event type");
  return WatchEvent{.deleted = type == "DELETE", .pair = std::move(*pair)};
}

// Reads each element of an array that may be missing.
template <typename T>
Status read_list(const json& object, const char* key, Result<T> (*read)(const json&),
                 std::vector<T>& list) {
  const json* array = find(object, key);
  if (array == nullptr) return {};
  if (!array->is_array()) return odd(key);
  for (const json& element : *array) {
    Result<T> one = read(element);
    if (!one) return std::unexpected(one.error());
    list.push_back(std::move(*one));
  }
  return {};
}

}  // namespace

std::string end_of_prefix(std::string prefix) {
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

Result<std::vector<std::string>> read_names(const json& object, const char* key) {
  const json* value = find(object, key);
  std::vector<std::string> names;
  if (value == nullptr) return names;
  if (!value->is_array()) return odd(key);
  for (const json& name : *value) {
    if (!name.is_string()) return odd(key);
    names.push_back(name.get<std::string>());
  }
  return names;
}

Result<std::vector<std::string>> read_full_members(const json& answer) {
  const json* alarms = find(answer, "alarms");
  std::vector<std::string> members;
  if (alarms == nullptr) return members;
  if (!alarms->is_array()) return odd("alarms");
  for (const json& alarm : *alarms) {
    if (!alarm.is_object()) return odd("alarm");
    if (read_text(alarm, "alarm") != "NOSPACE") continue;
    members.push_back(read_text(alarm, "memberID"));
  }
  return members;
}

Result<std::int64_t> read_int64(const json& object, const char* key) {
  const json* value = find(object, key);
  if (value == nullptr) return 0;
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX) return odd(key);
  if (value->is_number_integer()) return value->get<std::int64_t>();
  if (!value->is_string()) return odd(key);
  const auto& text = value->get_ref<const std::string&>();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return odd(key);
  return number;
}

Result<RangeAnswer> read_range(const json& answer) {
  RangeAnswer range;
  const auto revision = read_revision(answer);
  if (!revision) return std::unexpected(revision.error());
  range.revision = *revision;
  range.more = read_bool(answer, "more");
  if (Status read = read_list(answer, "kvs", read_pair, range.pairs); !read) {
    return std::unexpected(read.error());
  }
  return range;
}

Result<WatchAnswer> read_watch(const json& line) {
  const json* result = find(line, "result");
  if (result == nullptr) {
    const Refusal refusal = read_refusal(line.dump(-1, ' ', false, json::error_handler_t::replace));
    return fail(Errc::kIo, "etcd ended the watch: " + refusal.message);
  }
  WatchAnswer answer;
  const auto revision = read_revision(*result);
  if (!revision) return std::unexpected(revision.error());
  const auto compacted = read_int64(*result, "compact_revision");
  if (!compacted) return std::unexpected(compacted.error());
  answer.revision = *revision;
  answer.compact_revision = *compacted;
  answer.created = read_bool(*result, "created");
  answer.canceled = read_bool(*result, "canceled") || *compacted != 0;
  answer.reason = read_text(*result, "cancel_reason");
  if (Status read = read_list(*result, "events", read_event, answer.events); !read) {
    return std::unexpected(read.error());
  }
  return answer;
}

// {"error":"etcdserver: ...","message":"etcdserver: ...","code":7}; inside a stream
// {"error":{"grpc_code":7,"message":"...",...}}.
Refusal read_refusal(std::string_view body) {
  constexpr std::size_t kMaxText = 300;
  Refusal refusal{.code = 2, .message = "etcd's answer is not valid"};
  const Result<json> answer = parse_json(body);
  if (!answer || !answer->is_object()) return refusal;
  const json* error = find(*answer, "error");
  const json& from = error != nullptr && error->is_object() ? *error : *answer;
  for (const char* key : {"grpc_code", "code"}) {
    const auto code = read_int64(from, key);
    if (code && *code > 0 && *code < 100) refusal.code = static_cast<int>(*code);
  }
  for (const char* key : {"error", "message"}) {
    if (std::string text = read_text(from, key); !text.empty()) refusal.message = std::move(text);
  }
  refusal.message.resize(std::min(refusal.message.size(), kMaxText));
  for (char& c : refusal.message) {
    if (c < ' ' || c > '~') c = '?';
  }
  return refusal;
}

}  // namespace paravane::inventory
