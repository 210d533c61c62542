#include "daemon/file_rules.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>

#include "base/unique_fd.h"
#include "daemon/inside_filter_test.h"
#include "testing/temp_dir.h"

namespace paravane::daemon {
namespace {

namespace fs = std::filesystem;

class FileRules : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_file_rules()) GTEST_SKIP() << "this kernel has no Landlock";
  }

  // Asks a child that is under the rules and the filter.
  void expect_inside(const std::function<bool()>& question) const {
    EXPECT_EXIT(restrict_and_answer(question), testing::ExitedWithCode(kTrue), "");
  }
  [[noreturn]] void restrict_and_answer(const std::function<bool()>& question) const {
    const std::array<fs::path, 2> directories{own_.path(), "/nowhere"};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0) _exit(kNoFilter);
    if (!restrict_files(directories)) _exit(kNoFilter);
    answer_inside(question);
  }

  TempDir own_;
  TempDir other_;
};

TEST_F(FileRules, WritesInItsOwnDirectories) {
  const std::string file = own_ / "state";
  const std::string moved = own_ / "moved";
  expect_inside([&] {
    const UniqueFd made(::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    return made && ::write(made.get(), "x", 1) == 1 && ::rename(file.c_str(), moved.c_str()) == 0;
  });
}

TEST_F(FileRules, WritesNowhereElse) {
  const std::string file = other_ / "file";
  const UniqueFd made(::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666));
  ASSERT_TRUE(made);
  expect_inside([&] {
    const UniqueFd again(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    return !again && errno == EACCES && ::write(made.get(), "x", 1) == 1;
  });
}

// A device that all users may open, as RDMA's are, reaches a network by what is written to it.
TEST_F(FileRules, WritesToNoDevice) {
  expect_inside([] {
    const UniqueFd device(::open("/dev/null", O_RDWR | O_CLOEXEC));
    return !device && errno == EACCES;
  });
}

TEST_F(FileRules, ReadsWhatOthersMayRead) {
  expect_inside(
      [] { return UniqueFd(::open("/proc/self/status", O_RDONLY | O_CLOEXEC)).get() >= 0; });
}

// etcd is the engine's user, may use the network and is under no filter.
TEST_F(FileRules, LeavesTheMemoryOfItsUsersOtherProcessesAlone) {
  int ready[2] = {-1, -1};
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    ::close(ready[1]);
    char byte = 0;
    _exit(::read(ready[0], &byte, 1) == 0 ? 0 : 1);  // until the test has ended
  }
  const std::string memory = "/proc/" + std::to_string(other) + "/mem";
  EXPECT_TRUE(UniqueFd(::open(memory.c_str(), O_RDONLY | O_CLOEXEC))) << "no rule would be needed";
  expect_inside([&] {
    for (const int mode : {O_RDONLY, O_RDWR}) {
      if (UniqueFd(::open(memory.c_str(), mode | O_CLOEXEC))) return false;
    }
    return errno == EACCES;
  });
  ::close(ready[1]);
  ::close(ready[0]);
  EXPECT_EQ(::waitpid(other, nullptr, 0), other);
}

}  // namespace
}  // namespace paravane::daemon
