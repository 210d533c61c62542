// The messages of etcd's JSON gateway: protobuf as JSON. Its peculiarities are handled here:
// 64-bit numbers are strings; values that are 0, false or empty are omitted; keys and values are
// Base64.

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
  std::int64_t create_revision = 0;  // of the cluster, when the key came to be
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
  // The watch is over, with the reason and, if what it asked for is gone, the oldest
  // revision that is still there.
  bool canceled = false;
  std::string reason;
  std::int64_t compact_revision = 0;
  std::int64_t revision = 0;
  std::vector<WatchEvent> events;
};

// Of an answer that is no success.
struct Refusal {
  int code = 0;  // gRPC's
  std::string message;
};

// The first key behind all that begin with `prefix`. REQUIRES: it is not empty and does
// not end with the byte 255.
std::string end_of_prefix(std::string prefix);

// A number that may be a text; 0 if it is not there.
// Errors: kInvalidArgument (neither).
Result<std::int64_t> read_int64(const nlohmann::json& object, const char* key);

// A list of texts; empty if it is not there. Errors: kInvalidArgument.
Result<std::vector<std::string>> read_names(const nlohmann::json& object, const char* key);

// Errors: kInvalidArgument: nothing that etcd says.
Result<RangeAnswer> read_range(const nlohmann::json& answer);
Result<WatchAnswer> read_watch(const nlohmann::json& line);
// The members, by their ids, whose space is used up; of an answer about alarms.
Result<std::vector<std::string>> read_full_members(const nlohmann::json& answer);
Refusal read_refusal(std::string_view body);

}  // namespace paravane::inventory
