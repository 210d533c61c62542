#include "keeper/sealed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace paravane::keeper {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;

}  // namespace

Result<UniqueFd> make_sealed_file(const char* name, std::span<const std::byte> bytes) {
  UniqueFd file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto size = static_cast<ssize_t>(bytes.size());
  if (!file || ::write(file.get(), bytes.data(), bytes.size()) != size ||
      ::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) {
    return fail_by_system(Errc::kIo, "cannot keep a file in memory", errno);
  }
  return file;
}

Result<std::vector<std::byte>> read_sealed_file(int fd, std::size_t most) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  struct stat file{};
  if (seals < 0 || (seals & kSeals) != kSeals || ::fstat(fd, &file) != 0) {
    return fail(Errc::kInvalidArgument, "the file is not sealed");
  }
  if (file.st_size < 0 || static_cast<std::size_t>(file.st_size) > most) {
    return fail(Errc::kInvalidArgument, "it is too long");
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(file.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count =
        ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (count <= 0) return fail_by_system(Errc::kIo, "cannot read it", errno);
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

}  // namespace paravane::keeper
