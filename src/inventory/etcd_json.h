// Reads the messages of etcd's JSON gateway, which are protobuf messages in JSON form. In this
// form, a 64-bit number is a string, a value that is 0, false or empty is omitted, and keys and
// values are Base64. The functions return plain values.

#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paravane::inventory {

struct KeyValue {
  std::string key;
  std::string value;
  std::int64_t create_revision = 0;  // of the cluster, when the key was created
  std::int64_t mod_revision = 0;     // of its last change
  std::int64_t lease = 0;            // 0: none
};

struct RangeAnswer {
  std::int64_t revision = 0;  // of the cluster, when it was read
  bool more = false;
  std::vector<KeyValue> pairs;
};

struct WatchEvent {
  bool deleted = false;
  KeyValue pair;  // deleted: only the key and mod_revision
};

struct WatchAnswer {
  bool created = false;
  // The watch has ended. `reason` says why; if the requested revision was compacted,
  // `compact_revision` is the oldest one that still exists.
  bool canceled = false;
  std::string reason;
  std::int64_t compact_revision = 0;
  std::int64_t revision = 0;
  std::vector<WatchEvent> events;
};

// etcd's response to a request that failed.
struct Refusal {
  int code = 0;  // gRPC's
  std::string message;
};

// The first key behind all that begin with `prefix`. REQUIRES: it is not empty and does
// not end with the byte 255.
std::string end_of_prefix(std::string prefix);

// Reads a number, which may be a string; 0 if the key is missing. Errors: kInvalidArgument (neither
// a number nor a string of digits).
Result<std::int64_t> read_int64(const nlohmann::json& object, const char* key);

// Reads a list of strings; empty if the key is missing. Errors: kInvalidArgument.
Result<std::vector<std::string>> read_names(const nlohmann::json& object, const char* key);

// Errors: kInvalidArgument (etcd does not send such a message).
Result<RangeAnswer> read_range(const nlohmann::json& answer);
Result<WatchAnswer> read_watch(const nlohmann::json& line);
// Reads a response about alarms: the ids of the etcd members whose space is used up.
Result<std::vector<std::string>> read_full_members(const nlohmann::json& answer);
Refusal read_refusal(std::string_view body);

}  // namespace paravane::inventory
