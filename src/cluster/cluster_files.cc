#include "cluster/cluster_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/endpoint.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "cluster/clock.h"
#include "cluster/file_sums.h"
#include "json/json_reader.h"
#include "json/json_text.h"
#include "model/vm.h"

namespace paravane::cluster {

using nlohmann::json;

namespace {

// What a file is called until it is complete and replaces the one before it.
constexpr const char* kFresh = ".new";
constexpr off_t kMaxFile = off_t{16} << 20;
// Longer than the keeper gives an etcd (etcd_service.cc).
constexpr auto kEtcdEnds = std::chrono::seconds(7);

std::unexpected<Error> cannot(const char* what, const std::filesystem::path& path) {
  return fail_by_system(Errc::kIo, fmt::format("cannot {} {}", what, path.string()), errno);
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = ::write(fd, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

Status write_fresh(const std::filesystem::path& fresh, std::string_view text) {
  const UniqueFd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd || !write_all(fd.get(), text) || ::fsync(fd.get()) != 0) return cannot("write", fresh);
  return {};
}

// All but the note that it is unfinished.
void remove_files(const settings::ClusterPaths& paths, std::error_code& error) {
  for (std::filesystem::directory_iterator entry(paths.directory(), error), end;
       !error && entry != end; entry.increment(error)) {
    if (entry->path() == paths.unfinished()) continue;
    std::filesystem::remove_all(entry->path(), error);
    if (error) return;
  }
}

// An etcd that ends takes files away, too; one that is gone ends remove_all().
template <typename Remove>
std::error_code remove_patiently(Remove remove) {
  std::error_code error;
  const auto late = now() + kEtcdEnds;
  do {
    error.clear();
    remove(error);
    if (!error) return error;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (now() < late);
  return error;
}

}  // namespace

Status write_file(const std::filesystem::path& file, std::string_view text) {
  const std::filesystem::path fresh = file.string() + kFresh;
  Status written = write_fresh(fresh, text);
  if (written && ::rename(fresh.c_str(), file.c_str()) != 0) written = cannot("replace", file);
  if (!written) {
    ::unlink(fresh.c_str());  // it may contain part of a key
    return written;
  }
  const UniqueFd directory(::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fsync(directory.get()) != 0) return cannot("keep", file);
  return {};
}

void remove_incomplete_files(const settings::ClusterPaths& paths) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(paths.directory(), error), end;
       !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == kFresh) std::filesystem::remove(entry->path(), error);
  }
}

Result<std::string> read_file(const std::filesystem::path& file) {
  // Not one that would have us wait.
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0) return cannot("read", file);
  if (!S_ISREG(info.st_mode) || info.st_size > kMaxFile) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("{} is damaged: it is not a regular file, or is too large", file.string()));
  }
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  std::size_t read = 0;
  while (read < text.size()) {
    const ssize_t size = ::read(fd.get(), text.data() + read, text.size() - read);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return cannot("read", file);
    if (size == 0) break;
    read += static_cast<std::size_t>(size);
  }
  text.resize(read);
  return text;
}

Status write_own_certificate(const settings::ClusterPaths& paths) {
  const auto identity = read_file(paths.identity());
  if (!identity) return std::unexpected(identity.error());
  const std::size_t at = identity->find("-----BEGIN CERTIFICATE-----");
  if (at == std::string::npos) {
    return fail(Errc::kInvalidArgument, paths.identity().string() + " contains no certificate");
  }
  const std::string certificate = identity->substr(at);
  const auto known = read_file(paths.own_certificate());
  if (known && *known == certificate) return {};  // nothing to write on a full disk
  return write_file(paths.own_certificate(), certificate);
}

std::vector<std::string> files_left(const settings::ClusterPaths& paths) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(paths.directory(), error), end;
       !error && entry != end && names.size() < kMost; entry.increment(error)) {
    if (entry->path() != paths.unfinished()) names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

bool is_unfinished(const settings::ClusterPaths& paths) {
  std::error_code unknown;
  return std::filesystem::exists(paths.unfinished(), unknown);
}

Status make_cluster_directory(const settings::ClusterPaths& paths) {
  if (!is_unfinished(paths) && !files_left(paths).empty()) {
    return fail(Errc::kBadState,
                fmt::format("{} contains files of a cluster that this host has not left",
                            paths.directory().string()));
  }
  remove_cluster_directory(paths);
  if (::mkdir(paths.directory().c_str(), 0700) != 0) return cannot("make", paths.directory());
  return write_file(paths.unfinished(), "");
}

void remove_cluster_directory(const settings::ClusterPaths& paths) {
  std::error_code error;
  if (!std::filesystem::exists(paths.directory(), error)) return;
  // First: what is left is nothing. A disk that is full is no reason to stay.
  if (Status noted = write_file(paths.unfinished(), ""); !noted) {
    log::warn("cluster: {}", noted.error().message);
  }
  std::filesystem::remove(paths.membership(), error);
  error = remove_patiently([&paths](std::error_code& failed) {
    remove_files(paths, failed);
    if (!failed) std::filesystem::remove_all(paths.directory(), failed);
  });
  if (!error) return;
  log::warn("cluster: {} is no longer needed but cannot be removed: {}", paths.directory().string(),
            error.message());
}

void remove_etcd_data(const settings::ClusterPaths& paths) {
  const std::error_code error = remove_patiently([&paths](std::error_code& failed) {
    std::filesystem::remove_all(paths.etcd_data(), failed);
  });
  if (!error) return;
  log::warn("cluster: {} is no longer needed but cannot be removed: {}", paths.etcd_data().string(),
            error.message());
}

json print_membership(const Membership& membership) {
  return {{"cluster", membership.self.cluster},
          {"host", membership.self.host},
          {"authority", membership.authority},
          {"door", membership.door},
          {"runs_etcd", membership.runs_etcd},
          {"own_etcd_authority", membership.own_etcd_authority},
          {"etcd", membership.etcd},
          {"etcd_user", membership.etcd_user},
          {"etcd_password", membership.etcd_password}};
}

Result<Membership> parse_membership(const json& value) {
  JsonReader reader(value, "membership");
  Membership membership{
      .self = {.cluster = reader.need_text("cluster"), .host = reader.need_text("host")},
      .authority = reader.need_text("authority"),
      .door = reader.need_text("door"),
      .runs_etcd = reader.boolean("runs_etcd").value_or(false),
      .own_etcd_authority = reader.boolean("own_etcd_authority").value_or(false),
      .etcd = {},
      .etcd_user = reader.need_text("etcd_user"),
      .etcd_password = reader.need_text("etcd_password")};
  if (const json* endpoints = reader.array("etcd")) {
    for (const json& endpoint : *endpoints) {
      if (endpoint.is_string()) membership.etcd.push_back(endpoint.get<std::string>());
    }
  }
  if (membership.etcd.empty()) reader.complain("etcd", "must name at least one endpoint");
  if (!authority::is_cluster_id(membership.self.cluster))
    reader.complain("cluster", "is not a valid cluster ID");
  if (!model::check_name(membership.self.host)) reader.complain("host", "is not a valid host name");
  if (!Endpoint::parse(membership.door)) reader.complain("door", "is not an address with a port");
  // A newer version may have kept more.
  if (const Status good = reader.finish_ignoring_unknown(); !good) {
    return std::unexpected(good.error());
  }
  return membership;
}

Result<std::optional<Membership>> load_membership(const settings::ClusterPaths& paths) {
  std::error_code unknown;
  if (!std::filesystem::exists(paths.membership(), unknown) && !unknown) return std::nullopt;
  const auto text = read_file(paths.membership());
  if (!text) return std::unexpected(text.error());
  const auto value = parse_json(*text);
  Result<Membership> membership = fail(Errc::kInvalidArgument, "not a JSON object");
  if (value && value->is_object()) membership = parse_membership(*value);
  if (membership) return std::optional(std::move(*membership));
  return fail(Errc::kInvalidArgument, fmt::format("{} is damaged: {}", paths.membership().string(),
                                                  membership.error().message));
}

Status save_membership(const settings::ClusterPaths& paths, const Membership& membership) {
  const std::string text = print_membership(membership).dump(1) + "\n";
  if (Status kept = keep_sums(paths, text); !kept) return kept;
  if (Status kept = write_file(paths.membership(), text); !kept) return kept;
  std::error_code ignored;  // with a membership it means nothing
  std::filesystem::remove(paths.unfinished(), ignored);
  return {};
}

}  // namespace paravane::cluster
