#include "cluster/promotion_files.h"

#include <fmt/core.h>

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

// Instead of before(): there was none.
std::filesystem::path absent(const std::filesystem::path& file) {
  return file.string() + ".absent";
}

void drop_kept(const settings::ClusterPaths& paths) {
  std::error_code ignored;
  std::filesystem::remove(before(paths.identity()), ignored);
  for (const auto& file : replaced_files(paths)) {
    std::filesystem::remove(before(file), ignored);
    std::filesystem::remove(absent(file), ignored);
  }
}

// Renames alone, which a full disk has room for.
Status take_back(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::exists(absent(file), error)) {
    std::filesystem::remove(file, error);
    if (!error) std::filesystem::remove(absent(file), error);
  } else if (std::filesystem::exists(before(file), error)) {
    std::filesystem::rename(before(file), file, error);
  }
  if (!error) return {};
  return fail(Errc::kIo, fmt::format("cannot restore {} as it was before the promotion: {}",
                                     file.string(), error.message()));
}

}  // namespace

Status keep_before_promotion(const settings::ClusterPaths& paths) {
  drop_kept(paths);
  for (const auto& file : replaced_files(paths)) {
    std::error_code unknown;
    const bool is_there = std::filesystem::exists(file, unknown);
    const auto text = is_there ? read_file(file) : std::string();
    Status kept;
    if (!text) kept = std::unexpected(text.error());
    if (kept) kept = write_file(is_there ? before(file) : absent(file), *text);
    if (!kept) {
      drop_kept(paths);
      return kept;
    }
  }
  return {};
}

Status settle_promotion(const settings::ClusterPaths& paths) {
  std::error_code unknown;
  const bool is_kept = std::filesystem::exists(before(paths.identity()), unknown);
  if (unknown) return {};  // not known: nothing is deleted
  if (!is_kept) {
    drop_kept(paths);  // copies of a promotion that was killed before it replaced a file
    return {};
  }
  const auto membership = load_membership(paths);
  if (!membership || !*membership) return {};
  if (!(*membership)->has_authority()) {
    remove_etcd_data(paths);
    for (const auto& file : replaced_files(paths)) {
      if (Status back = take_back(file); !back) return back;
    }
    log::warn(
        "cluster: a promotion of this host was not completed: the host stays an ordinary member");
  }
  drop_kept(paths);
  return {};
}

}  // namespace paravane::cluster
