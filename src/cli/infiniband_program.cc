#include "cli/infiniband_program.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "cli/infiniband_places.h"

namespace paravane::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUmadLibrary = "libibumad.so.3";
constexpr const char* kBuiltUmadLibrary = "../lib/paravane/infiniband";  // from build/PRESET/bin

// Debian's opensm and infiniband-diags. In /usr/sbin, which the PATH of most users lacks.
constexpr auto kPrograms = std::to_array<std::string_view>({
    "dump_fts",      "ibaddr",     "ibccconfig",    "ibccquery", "ibfindnodesusing", "ibhosts",
    "ibidsverify",   "iblinkinfo", "ibnetdiscover", "ibnodes",   "ibping",           "ibportstate",
    "ibqueryerrors", "ibroute",    "ibrouters",     "ibstat",    "ibstatus",         "ibswitches",
    "ibsysstat",     "ibtracert",  "opensm",        "osmtest",   "perfquery",        "saquery",
    "sminfo",        "smpdump",    "smpquery",      "vendstat",
});

Error not_executed(const std::string& program, int error) {
  const Errc code = error == ENOENT ? Errc::kNotFound : Errc::kIo;
  return fail_by_system(code, program, error).error();
}

}  // namespace

std::span<const std::string_view> infiniband_programs() {
  return kPrograms;
}

std::string_view package_of_program(std::string_view program) {
  if (!std::ranges::binary_search(kPrograms, program)) return {};
  return program == "opensm" || program == "osmtest" ? "opensm" : "infiniband-diags";
}

Result<std::string> find_umad_library(const fs::path& program_folder) {
  std::string searched;
  for (const char* place : {kInstalledUmadLibrary, kBuiltUmadLibrary}) {
    const fs::path folder = (program_folder / place).lexically_normal();
    std::error_code error;
    if (fs::exists(folder / kUmadLibrary, error)) return folder.string();
    if (searched == folder) continue;  // both are one place
    if (!searched.empty()) searched += " and ";
    searched += folder.string();
  }
  return fail(Errc::kNotFound, fmt::format("there is no {} in {}", kUmadLibrary, searched));
}

std::string umad_door_beside(const std::string& api_socket) {
  return fs::path(api_socket).replace_filename("umad.sock");
}

std::string library_path(const std::string& folder, const char* before) {
  // The linker takes an empty element for the working directory.
  return before == nullptr || *before == '\0' ? folder : folder + ":" + before;
}

Error execute(const InfinibandProgram& program) {
  // NOLINTBEGIN(concurrency-mt-unsafe): this program has one thread
  const std::string path = library_path(program.library_folder, std::getenv("LD_LIBRARY_PATH"));
  ::setenv("LD_LIBRARY_PATH", path.c_str(), 1);
  // The program may change its working directory, as opensm -B does.
  std::error_code unknown;
  const fs::path door = fs::absolute(program.door, unknown);
  ::setenv("PARAVANE_UMAD_DOOR", unknown ? program.door.c_str() : door.c_str(), 1);
  // NOLINTEND(concurrency-mt-unsafe)
  std::vector<std::string> words = program.words;
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string& name = program.words.front();
  ::execvp(name.c_str(), arguments.data());
  const int error = errno;
  if (error != ENOENT || name.contains('/')) return not_executed(name, error);
  ::execv(("/usr/sbin/" + name).c_str(), arguments.data());
  return not_executed(name, errno);
}

}  // namespace paravane::cli
