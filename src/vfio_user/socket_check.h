// is_socket_of() checks that a descriptor which came with a state is what the state says: a UNIX
// stream socket of a listener at a path. A client's socket has the address of the listener that
// accepted it.
//
// Any thread.

#pragma once

#include <cstdint>
#include <filesystem>

namespace paravane::vfio_user {

enum class SocketKind : std::uint8_t { kListening, kAccepted };

bool is_socket_of(const std::filesystem::path& path, int fd, SocketKind kind);

}  // namespace paravane::vfio_user
