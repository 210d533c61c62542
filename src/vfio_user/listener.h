// Listener is the UNIX socket to which VMMs connect. Its file exists only while the daemon listens.
// Listener replaces a socket file that remains from a killed daemon, but not a socket on which
// another process listens.
//
// Owner thread only.

#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "state/descriptors.h"
#include "state/reader.h"
#include "state/writer.h"

namespace paravane::vfio_user {

class Listener {
 public:
  // Errors: kBadState (another process listens there), kInvalidArgument (the path is too long for a
  // socket), kIo; each with the path, the cause and the remedy.
  static Result<Listener> bind(const std::filesystem::path& path, mode_t mode);
  // Takes over the socket of another process, which stays as it is, as does its file. nullopt: the
  // state is refused; its socket is not one that listens at `path`.
  static std::optional<Listener> load(state::Reader& in, state::Descriptors& descriptors,
                                      const std::filesystem::path& path);
  ~Listener();
  Listener(Listener&&) noexcept;
  Listener& operator=(Listener&&) = delete;

  int fd() const { return socket_.get(); }

  // nullopt: no client is waiting. Errors: kResourceExhausted (out of descriptors; the client
  // continues to wait), kIo.
  Result<std::optional<UniqueFd>> accept();

  void save(state::Writer& out, state::Descriptors& descriptors) const;
  // Closes the socket and leaves its file to the process that has loaded it.
  void abandon();

 private:
  struct FileId {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const FileId&) const = default;
  };
  Listener(UniqueFd socket, std::filesystem::path path, FileId file);
  static FileId look_at(const std::filesystem::path& path);
  bool owns_file() const;

  UniqueFd socket_;
  std::filesystem::path path_;
  FileId file_;  // another daemon may have replaced it since
};

}  // namespace paravane::vfio_user
