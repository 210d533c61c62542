// Of start_check.h: what there is.

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/unique_fd.h"
#include "vmm/memory_left.h"
#include "vmm/qemu_program.h"
#include "vmm/start_check.h"

namespace paravane::vmm {
namespace {

using nlohmann::json;

constexpr const char* kKvm = "/dev/kvm";

// In one line: the remedy has a place of its own.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

void look_at_qemu(StartFacts& facts) {
  const auto version = qemu_version(facts.qemu);
  if (!version) {
    facts.qemu_problem = first_line(version.error().message);
    return;
  }
  if (const Status good = check_vfio_user(facts.qemu); !good) {
    facts.qemu_problem = first_line(good.error().message);
    return;
  }
  facts.qemu_version = fmt::format("{}.{}", version->major_number, version->minor_number);
}

void look_at_kvm(StartFacts& facts) {
  struct stat kvm{};
  facts.kvm_there = ::stat(kKvm, &kvm) == 0;
  if (!facts.kvm_there || (kvm.st_mode & S_IRWXG) != (S_IRGRP | S_IWGRP) || kvm.st_gid == 0) return;
  const group* entry = ::getgrgid(kvm.st_gid);  // NOLINT(concurrency-mt-unsafe): one thread
  if (entry != nullptr) facts.kvm_group = entry->gr_name;
}

// A LUN that is not served is told by check_start().
model::LunSockets served_luns(const model::VmStatus& vm, const StartFacts& facts) {
  if (!facts.luns) return {};
  model::LunSockets sockets = model::lun_sockets(vm.spec, *facts.luns, "");
  std::erase_if(sockets, [&facts](const auto& entry) {
    const auto found = std::ranges::find(*facts.luns, entry.first, &model::ScsiDevice::name);
    return found == facts.luns->end() || found->socket.empty();
  });
  return sockets;
}

// What QEMU's user finds, from the process that has become it.
json look_as_user(const model::VmStatus& vm, const Account& account, StartFacts facts) {
  if (const Status changed = become(account); !changed) {
    return {{"problem", changed.error().message}};
  }
  look_at_qemu(facts);
  json found = {{"version", facts.qemu_version},
                {"problem", facts.qemu_problem},
                {"kvm", ::access(kKvm, R_OK | W_OK) == 0}};
  if (const auto file = find_file_problem(vm, served_luns(vm, facts))) {
    found["file"] = {
        {"kind", static_cast<int>(file->kind)}, {"name", file->file}, {"error", file->error}};
  }
  return found;
}

std::string read_all(int from) {
  std::string text;
  std::array<char, 1024> bytes;
  for (;;) {
    const ssize_t count = ::read(from, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

// A separate process, since switching to QEMU's user cannot be undone.
json ask_as_user(const model::VmStatus& vm, const Account& account, const StartFacts& facts) {
  const auto failed = [](const char* what) {
    return json{{"problem", fmt::format("{}: {}", what, std::strerror(errno))}};
  };
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failed("pipe");
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  const pid_t process = ::fork();
  if (process < 0) return failed("fork");
  if (process == 0) {
    const std::string text =
        look_as_user(vm, account, facts).dump(-1, ' ', false, json::error_handler_t::replace);
    // The caller sees that there is no result.
    [[maybe_unused]] const ssize_t told = ::write(in.get(), text.data(), text.size());
    ::_exit(0);
  }
  in.reset();
  json found = json::parse(read_all(out.get()), nullptr, false);
  ::waitpid(process, nullptr, 0);
  if (!found.is_object()) return {{"problem", "the check could not run"}};
  return found;
}

}  // namespace

StartFacts gather_start_facts(const model::VmStatus& vm, const std::string& cgroup,
                              std::optional<std::vector<model::ScsiDevice>> luns) {
  StartFacts facts{.qemu = qemu_program()};
  facts.luns = std::move(luns);
  const MemoryLeft memory = memory_left(cgroup);
  facts.memory_mib = memory.mib;
  facts.memory_of = memory.of;
  facts.huge_pages = huge_pages_free();
  facts.may_lock = may_lock_memory();
  look_at_kvm(facts);
  facts.user = qemu_user();
  if (const auto places = Places::usual()) facts.runner = places->runner(vm.spec.name);
  const Result<Account> account = qemu_account();
  if (!account) {
    facts.account_problem = account.error();
    return facts;
  }
  facts.account = *account;
  const json found = ask_as_user(vm, *account, facts);
  facts.qemu_version = found.value("version", "");
  facts.qemu_problem = found.value("problem", "");
  facts.kvm = found.value("kvm", false);
  if (const auto file = found.find("file"); file != found.end()) {
    facts.file = FileProblem{.kind = static_cast<FileProblem::Kind>(file->value("kind", 0)),
                             .file = file->value("name", ""),
                             .error = file->value("error", 0)};
  }
  return facts;
}

}  // namespace paravane::vmm
