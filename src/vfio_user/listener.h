// Listener: the UNIX socket that VMMs connect to. Its file exists exactly as long as the daemon
// listens.
//
// A file that a killed daemon left behind is replaced; a socket with an active listener is left
// alone.

#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::vfio_user {

class Listener {
 public:
  // Errors: kBadState (another process listens there), kInvalidArgument (the path is too
  // long for a socket), kIo; each names the path, the cause and what to do.
  static Result<Listener> bind(const std::filesystem::path& path, mode_t mode);
  ~Listener();
  Listener(Listener&&) noexcept;
  Listener& operator=(Listener&&) = delete;

  int fd() const { return socket_.get(); }

  // nullopt: no client is waiting. Errors: kResourceExhausted (out of descriptors;
  // the client goes on waiting), kIo.
  Result<std::optional<UniqueFd>> accept();

 private:
  Listener(UniqueFd socket, std::filesystem::path path);
  bool owns_file() const;

  UniqueFd socket_;
  std::filesystem::path path_;
  dev_t device_ = 0;  // of the file that we made: a successor may have replaced it
  ino_t inode_ = 0;
};

}  // namespace paravane::vfio_user
