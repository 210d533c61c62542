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

constexpr const char* kUsualPath = "/usr/local/bin:/usr/bin:/bin";
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

std::string find_program(const std::string& name, const char* path) {
  if (name.contains('/')) return name;
  std::error_code error;
  const fs::path self = fs::canonical("/proc/self/exe", error);
  std::string_view folders = path == nullptr ? std::string_view(kUsualPath) : path;
  std::string closed;  // there is one, but it may not be executed
  for (bool is_last = false; !is_last;) {
    const std::size_t colon = folders.find(':');
    is_last = colon == std::string_view::npos;
    const std::string_view folder = folders.substr(0, colon);
    if (!is_last) folders.remove_prefix(colon + 1);
    const fs::path file = (folder.empty() ? fs::path(".") : fs::path(folder)) / name;
    if (!fs::is_regular_file(file, error)) continue;
    if (fs::canonical(file, error) == self) continue;
    if (::access(file.c_str(), X_OK) == 0) return file.string();
    if (closed.empty()) closed = file.string();
  }
  if (!closed.empty()) return closed;
  const std::string administrators = "/usr/sbin/" + name;
  return fs::exists(administrators, error) ? administrators : std::string();
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
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this program has one thread
  const std::string file = find_program(name, std::getenv("PATH"));
  if (file.empty()) return not_executed(name, ENOENT);
  ::execvp(file.c_str(), arguments.data());
  return not_executed(name, errno);
}

}  // namespace paravane::cli
