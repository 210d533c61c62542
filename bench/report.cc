#include "bench/report.h"

#include <fmt/core.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace paravane::bench {
namespace {

std::string number(double value) {
  if (value >= 1000) return fmt::format("{:.0f}", value);
  return value >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.3g}", value);
}

std::string cell(const Samples& samples) {
  if (samples.empty()) return "-";
  return fmt::format("{} ({} - {})", number(samples.median()), number(samples.min()),
                     number(samples.max()));
}

std::string target(const Figure& figure) {
  const Target& wanted = figure.target;
  if (wanted.of == Target::Of::kNothing) return "";
  return fmt::format("{} {}{}",
                     wanted.sense == Target::Sense::kAtMost ? "<=" : ">=", number(wanted.limit),
                     wanted.of == Target::Of::kRatio ? " x" : "");
}

const char* cores_of(const Figure& figure) {
  return figure.distance == Distance::kNear ? "near" : "distant";
}

const char* verdict(const Figure& figure) {
  const std::optional<bool> met = figure.met();
  if (!met) return "";
  return *met ? "met" : "MISSED";
}

nlohmann::json as_json(const Samples& samples) {
  if (samples.empty()) return nullptr;
  return {{"median", samples.median()}, {"min", samples.min()}, {"max", samples.max()}};
}

nlohmann::json as_json(const Figure& figure) {
  nlohmann::json object{{"name", figure.name},
                        {"unit", figure.unit},
                        {"value", as_json(figure.ours)},
                        {"floor", as_json(figure.floor)},
                        {"floor_name", figure.floor_name},
                        {"ratio", as_json(figure.ratio)},
                        {"cores", cores_of(figure)},
                        {"target", target(figure)}};
  const std::optional<bool> met = figure.met();
  object["met"] = met ? nlohmann::json(*met) : nlohmann::json(nullptr);
  return object;
}

}  // namespace

void print_table(const Figures& figures) {
  constexpr const char* kRow = "{:<36} {:<12} {:<24} {:<24} {:<22} {:<8} {:<10} {}\n";
  fmt::print(kRow, "figure", "unit", "median (min - max)", "floor", "ratio", "cores", "target", "");
  for (const Figure& figure : figures) {
    fmt::print(kRow, figure.name, figure.unit, cell(figure.ours), cell(figure.floor),
               cell(figure.ratio), cores_of(figure), target(figure), verdict(figure));
  }
  fmt::print("\nfloors:\n");
  for (const Figure& figure : figures) {
    if (!figure.floor.empty()) fmt::print("  {:<36} {}\n", figure.name, figure.floor_name);
  }
}

bool write_json(const Figures& figures, const Settings& settings, const std::string& path) {
  nlohmann::json list = nlohmann::json::array();
  for (const Figure& figure : figures) list.push_back(as_json(figure));
  std::ofstream file(path);
  file << nlohmann::json{{"repetitions", settings.repetitions}, {"figures", list}}.dump(2) << '\n';
  return static_cast<bool>(file.flush());
}

}  // namespace paravane::bench
