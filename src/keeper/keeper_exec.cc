#include "keeper/keeper_exec.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/close_range.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "keeper/heir_start.h"
#include "keeper/sealed_file.h"

namespace paravane::keeper {
namespace {

constexpr unsigned kFirst = STDERR_FILENO + 1;  // that is no standard stream

std::string name_of(const KeeperRecord& record) {
  return record.program.empty() ? "paravaned" : record.program;
}

// By its descriptor: another file may have its name.
int execute(int program, std::vector<std::string> words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execveat(program, "", arguments.data(), environ, AT_EMPTY_PATH);
  return errno;
}

// Of all but the standard streams.
void close_when_executed() {
  ::close_range(kFirst, ~0U, CLOSE_RANGE_CLOEXEC);
}

bool leave_open(int fd) {
  return ::fcntl(fd, F_SETFD, 0) == 0;
}

bool is_pipe(int fd) {
  struct stat file{};
  return ::fstat(fd, &file) == 0 && S_ISFIFO(file.st_mode);
}

// Whether it has ended or not.
bool is_child(pid_t pid) {
  siginfo_t ended{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool is_there(const KeeperRecord::Child& child) {
  return is_child(child.pid) && privsep::is_line(child.line);
}

}  // namespace

Error replace_keeper(const UniqueFd& program, const KeeperRecord& record) {
  const std::vector<std::byte> bytes = write_keeper_record(record);
  if (const auto good = read_keeper_record(bytes); !good) return good.error();
  const auto file = make_sealed_file("paravaned.keeper", bytes);
  if (!file) return file.error();
  const auto before = open_own_program();
  if (!before) return before.error();
  std::vector<std::string> words{name_of(record), "--keeper-record", std::to_string(file->get()),
                                 "--keeper-before", std::to_string(before->get())};
  if (!record.config_file.empty()) words.insert(words.end(), {"--config", record.config_file});
  std::vector<int> left = record.descriptors();
  left.insert(left.end(), {file->get(), before->get()});
  close_when_executed();
  const int error = std::ranges::all_of(left, leave_open) ? execute(program.get(), words) : errno;
  close_when_executed();
  return fail_by_system(Errc::kIo, fmt::format("cannot execute {}", name_of(record)), error)
      .error();
}

Result<KeeperRecord> open_keeper_record(const KeeperWords& words) {
  const auto bytes = read_sealed_file(words.record, KeeperRecord::kMostBytes);
  if (!bytes) return std::unexpected(bytes.error());
  auto record = read_keeper_record(*bytes);
  if (!record) return record;
  const auto refuse = [](const char* what) {
    return fail(Errc::kInvalidArgument, fmt::format("{} is not there", what));
  };
  if (!is_there(record->engine)) return refuse("the engine");
  if (record->holder && !is_there(*record->holder)) return refuse("the holder");
  if (record->etcd.pid > 0 && !is_child(record->etcd.pid)) return refuse("etcd");
  if (record->etcd.log >= 0 && !is_pipe(record->etcd.log)) return refuse("etcd's log");
  const auto all = record->descriptors();
  if (std::ranges::count(all, words.record) != 0) return refuse("a descriptor");
  return record;
}

void accept_keeper_record(const KeeperWords& words) {
  close_when_executed();
  ::close(words.record);
  if (words.before >= static_cast<int>(kFirst)) ::close(words.before);
}

Error return_to_keeper(const KeeperWords& words, const std::string& cause) {
  const int error = execute(
      words.before, {"paravaned", "--keeper-record", std::to_string(words.record),
                     "--keeper-before", std::to_string(words.before), "--keeper-refused", cause});
  return fail_by_system(Errc::kIo, "cannot execute the program before", error).error();
}

}  // namespace paravane::keeper
