#include "api/named_counts.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace paravane::api {

std::map<std::string, std::uint64_t> read_named_counts(JsonReader& reader, const char* key,
                                                       std::size_t most) {
  std::map<std::string, std::uint64_t> counts;
  const nlohmann::json* object = reader.object(key);
  if (object == nullptr) return counts;
  if (object->size() > most) {
    reader.complain(key, "has too many counters");
    return counts;
  }
  for (const auto& [name, value] : object->items()) {
    if (!value.is_number_unsigned()) {
      reader.complain(key, fmt::format("has no counter {}", name));
      return counts;
    }
    counts[name] = value.get<std::uint64_t>();
  }
  return counts;
}

}  // namespace paravane::api
