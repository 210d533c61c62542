#include "vmm/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/unique_fd.h"
#include "vmm/own_terminal_test.h"

namespace paravane::vmm {
namespace {

// A QEMU that is a script, and what a VM needs for it.
class LaunchTest : public testing::Test {
 protected:
  LaunchTest() {
    std::string pattern = testing::TempDir() + "launchXXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    ::chmod(folder_.c_str(), 0755);
    std::ofstream(folder_ + "/db1.sock") << "";
    ::chmod((folder_ + "/db1.sock").c_str(), 0666);
    ::setenv("PARAVANE_QEMU", (folder_ + "/qemu").c_str(), 1);
    ::setenv("PARAVANE_VM_USER", "nobody", 1);
    vm_.spec.name = "db1";
    vm_.spec.adapters[0].mac = model::MacAddress{2, 0, 0, 0, 0, 1};
    vm_.adapters = {{.socket = folder_ + "/db1.sock"}};
  }
  ~LaunchTest() override {
    ::unsetenv("PARAVANE_QEMU");
    ::unsetenv("PARAVANE_VM_USER");
    std::filesystem::remove_all(folder_);
  }

  void write_qemu(const std::string& script) {
    std::ofstream(folder_ + "/qemu") << "#!/bin/sh\ncase $1 in\n"
                                        "  --version) echo QEMU emulator version 10.1 ;;\n"
                                        "  *) " +
                                            script + " ;;\nesac\n";
    ::chmod((folder_ + "/qemu").c_str(), 0755);
  }
  Places places() const { return Places(folder_ + "/vms"); }
  // What QEMU says that does this.
  std::string said_by(const std::string& script) {
    write_qemu(script);
    const auto qemu = launch_detached(vm_, places());
    if (!qemu) return qemu.error().message;
    ::waitpid(*qemu, nullptr, 0);
    return places().log_tail("db1");
  }

  std::string folder_;
  model::VmStatus vm_;
};

TEST_F(LaunchTest, QemuInheritsNothingElse) {
  EXPECT_EQ(said_by("echo it runs"), "it runs\n");
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const UniqueFd out(ends[0]), in(ends[1]);
  const std::string inherited = "/proc/$$/fd/" + std::to_string(in.get());
  EXPECT_EQ(said_by("test -e " + inherited + " && echo inherited || echo not"), "not\n");
}

// Started by hand, at the terminal of a shell that may be root's.
TEST_F(LaunchTest, QemuNeitherTypesNorReadsAtAShellsTerminal) {
  if (::geteuid() != 0) GTEST_SKIP() << "QEMU is the same user";
  write_qemu(
      "(: </dev/tty) 2>/dev/null && own=its; (cat <&1) 2>/dev/null && read=reads; "
      "echo \"it has ${own:-no} terminal, ${read:-reads not}\"");
  const OwnTerminal terminal;
  ASSERT_EQ(::write(terminal.controller(), "\004", 1), 1);  // for one who reads: no more
  EXPECT_EQ(terminal.in_job([&] {
    ::dup2(terminal.terminal(), STDOUT_FILENO);
    ::dup2(terminal.terminal(), STDERR_FILENO);
    static_cast<void>(launch(vm_, places(), Output::kInherited));
    return 1;
  }),
            0);
  EXPECT_THAT(terminal.shown(), testing::HasSubstr("it has no terminal, reads not"));
}

}  // namespace
}  // namespace paravane::vmm
