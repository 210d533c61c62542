#include "base/directory_check.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace paravane {

Status check_directory(const std::filesystem::path& directory, std::string_view setting) {
  std::error_code error;
  const bool there = std::filesystem::is_directory(directory, error);
  if (error && error != std::errc::no_such_file_or_directory) {
    return fail(Errc::kIo, fmt::format("{} {} is not accessible: {}", setting, directory.string(),
                                       error.message()));
  }
  if (!there) {
    if (std::filesystem::exists(directory, error)) {
      return fail(Errc::kIo, fmt::format("{} {} is not a directory. Set {} in paravaned.toml, or "
                                         "move the existing file and create the directory.",
                                         setting, directory.string(), setting));
    }
    return fail(Errc::kIo,
                fmt::format("{} {} does not exist. Create it (install -d -m 0750 {}) or set {} in "
                            "paravaned.toml; the systemd unit creates the default directories.",
                            setting, directory.string(), directory.string(), setting));
  }
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    return fail(
        Errc::kIo,
        fmt::format("{} {} is not writable by user {}: {}. Change its owner or "
                    "mode, or set {} in paravaned.toml.",
                    setting, directory.string(), ::geteuid(), std::strerror(errno), setting),
        errno);
  }
  return {};
}

}  // namespace paravane
