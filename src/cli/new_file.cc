#include "cli/new_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/unique_fd.h"

namespace paravane::cli {
namespace {

std::filesystem::path folder_of(const std::string& file) {
  return std::filesystem::absolute(file).parent_path();
}

std::string remedy_of(int error, const std::string& file) {
  const std::string folder = folder_of(file).string();
  switch (error) {
    case EEXIST: return "Choose another name, or move that file away.";
    case ENOENT: return fmt::format("Create the directory first: mkdir -p {}", folder);
    case ENOTDIR:
    case EISDIR: return "Name a file in a directory.";
    case ENOSPC:
    case EDQUOT:
      return fmt::format("Free some space in {}, or choose a directory on another disk.", folder);
    case EACCES:
    case EPERM:
      return fmt::format("Choose a directory that you may write to; {} is not writable.", folder);
    case EROFS:
      return fmt::format("Choose a directory on a writable file system; {} is read-only.", folder);
    case ENAMETOOLONG: return "Choose a shorter name.";
    default: return "Choose a directory on another disk.";
  }
}

std::unexpected<FileRefusal> refuse_file(const std::string& file, int error) {
  const std::string remedy = remedy_of(error, file);
  if (error == EEXIST) {
    return std::unexpected(FileRefusal{fmt::format("{} already exists", file), remedy});
  }
  return std::unexpected(FileRefusal{
      fmt::format("cannot write {}: {}; no file was left behind", file, std::strerror(error)),
      remedy});
}

}  // namespace

std::expected<void, FileRefusal> check_new_file(const std::string& file) {
  std::error_code unknown;
  if (std::filesystem::exists(std::filesystem::symlink_status(file, unknown))) {
    return refuse_file(file, EEXIST);
  }
  const std::string folder = folder_of(file).string();
  const UniqueFd directory(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::access(folder.c_str(), W_OK | X_OK) != 0) return refuse_file(file, errno);
  return {};
}

std::expected<void, FileRefusal> write_new_file(const std::string& file, std::string_view bytes) {
  const UniqueFd fd(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return refuse_file(file, errno);
  const auto take_back = [&file](int error) {
    ::unlink(file.c_str());
    return refuse_file(file, error);
  };
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return take_back(count < 0 ? errno : ENOSPC);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::fsync(fd.get()) != 0) return take_back(errno);
  const UniqueFd directory(::open(folder_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fsync(directory.get()) != 0) return take_back(errno);
  return {};
}

}  // namespace paravane::cli
