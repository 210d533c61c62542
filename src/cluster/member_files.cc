#include "cluster/member_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "authority/certificate.h"
#include "authority/damage_check.h"
#include "cluster/file_sums.h"

namespace paravane::cluster {
namespace {

std::unexpected<Error> damaged(const std::filesystem::path& file, const std::string& cause) {
  return fail(Errc::kInvalidArgument, fmt::format("{} is damaged: {}", file.string(), cause));
}

// That they belong to each other. Whether they are in force is another matter. Without
// `membership`, which is damaged itself, not whose they are.
Status check_identity(const settings::ClusterPaths& paths, const Membership* membership) {
  const auto own = read_file(paths.identity());
  if (!own) return std::unexpected(own.error());
  const auto authority = read_file(paths.authority());
  if (!authority) return std::unexpected(authority.error());
  if (const Status good = authority::check_signature(*authority, *authority); !good) {
    return damaged(paths.authority(), good.error().message);
  }
  if (const Status good = authority::check_signature(*own, *authority); !good) {
    return damaged(paths.identity(), good.error().message);
  }
  if (const Status good = authority::check_key(*own, *own); !good) {
    return damaged(paths.identity(), good.error().message);
  }
  const auto seen = authority::inspect(*own);
  if (!seen) return damaged(paths.identity(), seen.error().message);
  if (membership == nullptr || seen->identity == membership->self) return {};
  return damaged(paths.identity(), "it is not the certificate of this host in this cluster");
}

}  // namespace

Result<std::optional<Membership>> load_member_files(const settings::ClusterPaths& paths) {
  auto membership = load_membership(paths);
  if (!membership) return membership;
  if (!*membership) {
    const std::vector<std::string> left = files_left(paths);
    if (left.empty()) return membership;
    if (is_unfinished(paths)) {
      remove_cluster_directory(paths);
      return membership;
    }
    return fail(Errc::kInvalidArgument,
                fmt::format("{} is missing, but other files of the cluster exist: {}",
                            paths.membership().string(), fmt::join(left, ", ")));
  }
  // All that is damaged is named at once.
  const Status sums = check_sums(paths);
  const Status identity = check_identity(paths, sums ? &**membership : nullptr);
  if (!sums && !identity) {
    return fail(sums.error().code,
                fmt::format("{}; {}", sums.error().message, identity.error().message));
  }
  if (!sums) return std::unexpected(sums.error());
  if (!identity) return std::unexpected(identity.error());
  // A note that stayed would give up all of it, should the membership ever be lost.
  std::error_code ignored;
  std::filesystem::remove(paths.unfinished(), ignored);
  return membership;
}

// What the authority has signed says it best.
std::string find_host_name(const settings::ClusterPaths& paths) {
  const auto own = read_file(paths.identity());
  const auto authority = read_file(paths.authority());
  if (own && authority && authority::check_signature(*own, *authority)) {
    const auto seen = authority::inspect(*own);
    if (seen && seen->identity) return seen->identity->host;
  }
  const auto membership = load_membership(paths);
  const bool is_good = membership && *membership && check_sums(paths);
  return is_good ? (*membership)->self.host : std::string();
}

}  // namespace paravane::cluster
