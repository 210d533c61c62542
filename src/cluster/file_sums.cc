#include "cluster/file_sums.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "authority/certificate.h"
#include "cluster/cluster_files.h"

namespace paravane::cluster {
namespace {

// "SHA256  NAME" in each line; what is none names nothing.
std::map<std::string, std::set<std::string>> parse_sums(std::string_view text) {
  constexpr std::string_view kBetween = "  ";
  std::map<std::string, std::set<std::string>> sums;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const auto at = line.find(kBetween);
    if (at == std::string_view::npos) continue;
    sums[std::string(line.substr(at + kBetween.size()))].emplace(line.substr(0, at));
  }
  return sums;
}

std::string line(std::string_view text, const std::filesystem::path& file) {
  return fmt::format("{}  {}\n", authority::hash(text), file.filename().string());
}

}  // namespace

Status keep_sums(const settings::ClusterPaths& paths, std::string_view membership) {
  std::string sums = line(membership, paths.membership());
  for (const auto& file : {paths.membership(), paths.etcd_authority()}) {
    if (!std::filesystem::exists(file)) continue;
    const auto now = read_file(file);
    if (!now) return std::unexpected(now.error());
    sums += line(*now, file);
  }
  return write_file(paths.sums(), sums);
}

Status check_sums(const settings::ClusterPaths& paths) {
  std::error_code unknown;
  if (!std::filesystem::exists(paths.sums(), unknown)) return {};
  const auto text = read_file(paths.sums());
  if (!text) return std::unexpected(text.error());
  const auto sums = parse_sums(*text);
  std::vector<std::string> damaged;
  for (const auto& file : {paths.membership(), paths.etcd_authority()}) {
    const auto good = sums.find(file.filename().string());
    if (good == sums.end()) continue;
    const auto now = read_file(file);
    if (!now) return std::unexpected(now.error());
    if (good->second.contains(authority::hash(*now))) continue;
    damaged.push_back(fmt::format("{} is damaged: its content does not match its checksum in {}",
                                  file.string(), paths.sums().string()));
  }
  if (damaged.empty()) return {};
  return fail(Errc::kInvalidArgument, fmt::format("{}", fmt::join(damaged, "; ")));
}

}  // namespace paravane::cluster
