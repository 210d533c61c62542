#include "cli/infiniband_run.h"

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "cli/infiniband_program.h"

namespace paravane::cli {
namespace {

ExitStatus report_not_run(const std::string& program, const Error& error) {
  if (error.code != Errc::kNotFound) {
    report_failure(error.message, "");
    return ExitStatus::kCannotExecute;
  }
  const std::string_view package = package_of_program(program);
  const std::string remedy = package.empty()
                                 ? "Check the name, or give the path of the program."
                                 : fmt::format("Install it with: apt install {}", package);
  report_failure(fmt::format("{}: program not found", program), remedy);
  return ExitStatus::kNoProgram;
}

// Without adapters the daemon has no socket for programs. One that does not use adapters runs.
void note_no_adapter(const Context& context) {
  const auto adapters = context.client().list_ib_adapters();
  if (!adapters) return;
  fmt::print(
      stderr, "{}: {}\n", program_name(),
      adapters->empty()
          ? "this host has no InfiniBand adapter; see: paravane infiniband adapter add --help"
          : "no InfiniBand adapter of this host could be made; see: paravane infiniband "
            "adapter list");
  std::fflush(stderr);
}

// Where the daemon says that its socket for libibumad is. One that does not answer, as to a user
// that may not open its API, or does not know, has it beside that of the API.
std::string umad_door(const Context& context) {
  const auto fabric = context.client().ib_fabric();
  if (fabric && fabric->switch_guid == 0) note_no_adapter(context);
  if (fabric && !fabric->umad_socket.empty()) return fabric->umad_socket;
  return umad_door_beside(context.socket);
}

}  // namespace

ExitStatus run_infiniband_program(const std::vector<std::string>& words, const std::string& door,
                                  const Context& context) {
  std::error_code unknown;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const auto library = find_umad_library(self.parent_path());
  if (!library) {
    return report_failure(library.error().message, "Reinstall the package paravane.");
  }
  const Error error = execute({.words = words,
                               .library_folder = *library,
                               .door = door.empty() ? umad_door(context) : door});
  return report_not_run(words.front(), error);
}

}  // namespace paravane::cli
