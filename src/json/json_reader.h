// JsonReader reads one JSON object that another program wrote, and detects every deviation from the
// expected form.
//
// Read each key once, then call finish(). finish() reports the first key that was missing, of the
// wrong type, out of range, or never read. If a value cannot be read, a default (nullopt, empty or
// 0) is returned, so callers check for errors only once.

#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace paravane {

class JsonReader {
 public:
  // `where` names the object in messages ("request", "vm"). `object` outlives
  // the reader.
  JsonReader(const nlohmann::json& object, std::string where);

  std::optional<std::string> text(const char* key);
  std::optional<std::uint64_t> number(const char* key, std::uint64_t max = ~std::uint64_t{0});
  std::optional<std::uint32_t> u32(const char* key);
  std::optional<bool> boolean(const char* key);
  bool is_null(const char* key);  // the key is there, without a value
  // nullptr: not there (or reported).
  const nlohmann::json* object(const char* key);
  const nlohmann::json* array(const char* key);

  // As above, but the key must be there.
  std::string need_text(const char* key);
  std::uint64_t need_number(const char* key, std::uint64_t max = ~std::uint64_t{0});
  std::uint32_t need_u32(const char* key);

  // Notes a problem that the caller found with a value.
  void complain(const char* key, std::string_view problem);

  // Errors: kInvalidArgument.
  Status finish();
  // As finish(), but keys that were never read are not an error: a newer daemon may add keys.
  Status finish_ignoring_unknown() const;

 private:
  const nlohmann::json* find(const char* key);

  const nlohmann::json& object_;
  std::string where_;
  std::string problem_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace paravane
