// read_named_counts(): an object of counters by name, {"rx_packets": 12, ...}, in a response.
//
// Stateless, any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "json/json_reader.h"

namespace paravane::api {

// Empty without the key. More than `most` of them, or one that is no number, is reported by the
// reader.
std::map<std::string, std::uint64_t> read_named_counts(JsonReader& reader, const char* key,
                                                       std::size_t most);

}  // namespace paravane::api
