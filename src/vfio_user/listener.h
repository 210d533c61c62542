// Listener is the UNIX socket to which VMMs connect. Its file exists only while the daemon listens.
// Listener replaces a socket file that remains from a killed daemon, but not a socket on which
// another process listens.

#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::vfio_user {

class Listener {
 public:
  // Errors: kBadState (another process listens there), kInvalidArgument (the path is too long for a
  // socket), kIo; each with the path, the cause and the remedy.
  static Result<Listener> bind(const std::filesystem::path& path, mode_t mode);
  ~Listener();
  Listener(Listener&&) noexcept;
  Listener& operator=(Listener&&) = delete;

  int fd() const { return socket_.get(); }

  // nullopt: no client is waiting. Errors: kResourceExhausted (out of descriptors; the client
  // continues to wait), kIo.
  Result<std::optional<UniqueFd>> accept();

 private:
  Listener(UniqueFd socket, std::filesystem::path path);
  bool owns_file() const;

  UniqueFd socket_;
  std::filesystem::path path_;
  dev_t device_ = 0;  // of our file; another daemon may have replaced it since
  ino_t inode_ = 0;
};

}  // namespace paravane::vfio_user
