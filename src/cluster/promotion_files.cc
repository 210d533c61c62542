#include "cluster/promotion_files.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "base/log.h"
#include "cluster/cluster_files.h"

namespace paravane::cluster {
namespace {

// The last one is kept last, and taken back last: with it there is something to take back.
std::vector<std::filesystem::path> replaced_files(const settings::ClusterPaths& paths) {
  return {paths.succession(),    paths.inventory(), paths.etcd_authority(),
          paths.authority_key(), paths.book(),      paths.own_certificate(),
          paths.identity()};
}

std::filesystem::path before(const std::filesystem::path& file) {
  return file.string() + ".before";
}

void drop_kept(const settings::ClusterPaths& paths) {
  std::error_code ignored;
  std::filesystem::remove(before(paths.identity()), ignored);
  for (const auto& file : replaced_files(paths)) std::filesystem::remove(before(file), ignored);
}

// Renames alone, which a full disk has room for.
bool take_back(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(before(file), error)) return true;
  if (std::filesystem::file_size(before(file), error) == 0) {  // there was none
    std::filesystem::remove(file, error);
    if (!error) std::filesystem::remove(before(file), error);
  } else if (!error) {
    std::filesystem::rename(before(file), file, error);
  }
  if (error) log::warn("cluster: {} is not what it was: {}", file.string(), error.message());
  return !error;
}

}  // namespace

Status keep_before_promotion(const settings::ClusterPaths& paths) {
  drop_kept(paths);
  for (const auto& file : replaced_files(paths)) {
    std::error_code unknown;
    std::string text;
    if (std::filesystem::exists(file, unknown)) {
      auto read = read_file(file);
      if (!read) return std::unexpected(read.error());
      text = std::move(*read);
    }
    if (Status kept = write_file(before(file), text); !kept) {
      drop_kept(paths);
      return kept;
    }
  }
  return {};
}

void settle_promotion(const settings::ClusterPaths& paths) {
  std::error_code unknown;
  if (!std::filesystem::exists(before(paths.identity()), unknown)) return;
  const auto membership = load_membership(paths);
  if (!membership || !*membership) return;
  if (!(*membership)->has_authority()) {
    remove_etcd_data(paths);
    for (const auto& file : replaced_files(paths)) {
      if (!take_back(file)) return;  // at the next start
    }
    log::warn(
        "cluster: a promotion of this host did not come to its end: it is the member that it was");
  }
  drop_kept(paths);
}

}  // namespace paravane::cluster
