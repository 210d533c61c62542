#include "vmm/file_check.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace paravane::vmm {
namespace {

using Kind = FileProblem::Kind;

std::optional<FileProblem> look(Kind kind, const std::string& file, int mode) {
  if (file.empty()) return std::nullopt;
  if (::access(file.c_str(), mode) != 0) {
    return FileProblem{.kind = kind, .file = file, .error = errno};
  }
  struct stat found{};
  if (::stat(file.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return std::nullopt;
  return FileProblem{.kind = kind, .file = file, .error = EISDIR};
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kDisk: return "disk";
    case Kind::kKernel: return "kernel";
    case Kind::kInitrd: return "initrd";
    case Kind::kSocket: return "adapter's socket";
    case Kind::kLun: return "LUN's socket";
  }
  return "";
}

}  // namespace

std::optional<FileProblem> find_file_problem(const model::VmStatus& vm,
                                             const model::LunSockets& luns) {
  const model::VmMachine& machine = vm.spec.machine;
  for (const model::Disk& disk : machine.disks) {
    if (disk.is_lun()) continue;
    const int mode = disk.read_only ? R_OK : R_OK | W_OK;
    if (auto problem = look(Kind::kDisk, disk.file, mode)) return problem;
  }
  if (auto problem = look(Kind::kKernel, machine.kernel, R_OK)) return problem;
  if (auto problem = look(Kind::kInitrd, machine.initrd, R_OK)) return problem;
  for (const model::AdapterStatus& adapter : vm.adapters) {
    if (auto problem = look(Kind::kSocket, adapter.socket, R_OK | W_OK)) return problem;
  }
  for (const auto& [lun, socket] : luns) {
    if (auto problem = look(Kind::kLun, socket, R_OK | W_OK)) return problem;
  }
  return std::nullopt;
}

std::string describe(const FileProblem& problem, const Account& account) {
  std::string text =
      fmt::format("{} {}: {}", name_of(problem.kind), problem.file, std::strerror(problem.error));
  if (problem.error == EACCES) text += "; QEMU runs as " + account.name + ", which needs access";
  return text;
}

}  // namespace paravane::vmm
