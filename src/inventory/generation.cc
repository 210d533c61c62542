#include "inventory/generation.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "json/json_reader.h"

namespace paravane::inventory {

using nlohmann::json;

namespace {

// More changes than a cluster has seen that its restored copy has not.
constexpr std::uint64_t kLeap = std::uint64_t{1} << 20;

bool is_mark(const std::string& text) {
  return text.size() == Generation::kMarkDigits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

Generation next_generation(Generation before, std::string mark) {
  ++before.number;
  before.marks.push_back(std::move(mark));
  if (before.marks.size() > Generation::kMostMarks) before.marks.erase(before.marks.begin());
  return before;
}

Generation accepted_generation(const Generation& before, std::string mark) {
  return {.number = before.number + kLeap,
          .marks = {std::move(mark)},
          .supersedes = before.number + kLeap - 1};
}

bool continues(const Generation& offered, const SeenGeneration& seen) {
  if (offered.number < seen.number) return false;
  if (seen.number == 0 || seen.number <= offered.supersedes) return true;
  const std::uint64_t ago = offered.number - seen.number;
  // Of one that is so long ago only the number is known.
  if (ago >= offered.marks.size()) return offered.marks.size() == Generation::kMostMarks;
  return offered.marks[offered.marks.size() - 1 - ago] == seen.mark;
}

std::string why_not_continued(const Generation& offered, std::int64_t revision,
                              const SeenGeneration& seen) {
  const std::string both = fmt::format(
      "etcd has generation {} at revision {}, and this host has followed generation {} at revision "
      "{}",
      offered.number, revision, seen.number, seen.revision);
  if (offered.number < seen.number) {
    return fmt::format("the configuration in etcd is older than the one of this host: {}", both);
  }
  return fmt::format(
      "the configuration in etcd has a different history than the one of this host: {}", both);
}

json print_generation(const Generation& generation) {
  return {{"number", generation.number},
          {"marks", generation.marks},
          {"supersedes", generation.supersedes}};
}

Result<Generation> parse_generation(const json& value) {
  const auto odd = [] {
    return fail(Errc::kInvalidArgument, "the document is not a valid configuration generation");
  };
  if (!value.is_object()) return odd();
  JsonReader reader(value, "generation");
  Generation generation{.number = reader.need_number("number", Generation::kMostNumber),
                        .marks = {},
                        .supersedes = reader.need_number("supersedes", Generation::kMostNumber)};
  const json* marks = reader.array("marks");
  if (!reader.finish_ignoring_unknown() || marks == nullptr || marks->empty() ||
      marks->size() > Generation::kMostMarks || generation.number < marks->size() ||
      generation.supersedes >= generation.number) {
    return odd();
  }
  for (const json& mark : *marks) {
    if (!mark.is_string() || !is_mark(mark.get<std::string>())) return odd();
    generation.marks.push_back(mark.get<std::string>());
  }
  return generation;
}

std::string print_cluster(const std::string& cluster, const std::string& authority,
                          const Generation& generation) {
  json value = {{"cluster", cluster}, {"authority", authority}};
  if (generation.number != 0) value["generation"] = print_generation(generation);
  return value.dump();
}

}  // namespace paravane::inventory
