// Runs a program of InfiniBand, such as opensm or ibstat, on the virtual adapters of this host.
// These programs reach adapters through libibumad. The program gets the environment in which the
// dynamic linker loads Paravane's libibumad.so.3 instead of the system's, and in which that library
// finds the daemon's socket.
//
// This program has one thread.

#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paravane::cli {

// The programs that are known to use libibumad, in the order of their names.
std::span<const std::string_view> infiniband_programs();
// The Debian package that contains a program; empty: not known.
std::string_view package_of_program(std::string_view program);

// The folder that contains Paravane's libibumad.so.3. `program_folder`: that of the program
// paravane. Errors: kNotFound, with the folders that were searched.
Result<std::string> find_umad_library(const std::filesystem::path& program_folder);

// The daemon's socket for libibumad, where the daemon does not say: beside that of the API.
std::string umad_door_beside(const std::string& api_socket);

// The value of LD_LIBRARY_PATH: `folder`, then what it was before (nullptr: it was not set).
std::string library_path(const std::string& folder, const char* before);

// The file of a program: in the folders of `path` (the value of PATH; nullptr: it is not set), then
// in /usr/sbin. Links to this program are passed over, as ours that is called ibstat is. A name
// with a slash is the file itself. Empty: not found.
std::string find_program(const std::string& name, const char* path);

struct InfinibandProgram {
  std::vector<std::string> words;  // its name or path, and its arguments; not empty
  std::string library_folder;
  std::string door;  // the daemon's socket; may be relative to the working directory
};

// Replaces this process by the program, which find_program() finds. Returns only if
// that failed. Errors: kNotFound (there is no such program), kIo.
Error execute(const InfinibandProgram& program);

}  // namespace paravane::cli
