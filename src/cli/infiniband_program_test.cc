#include "cli/infiniband_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "testing/temp_dir.h"

namespace paravane::cli {
namespace {

using testing::ExitedWithCode;
using testing::HasSubstr;
using testing::KilledBySignal;

class InfinibandProgramTest : public testing::Test {
 protected:
  std::string make_script(const std::string& name, const std::string& text, mode_t mode = 0755) {
    std::string path = (directory_.path() / name).string();
    std::ofstream(path) << "#!/bin/sh\n" << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  static InfinibandProgram program(std::vector<std::string> words) {
    return {.words = std::move(words), .library_folder = "/ours", .door = "/run/x/umad.sock"};
  }

  TempDir directory_;
};

TEST(InfinibandPrograms, AreInTheirPackages) {
  EXPECT_TRUE(std::ranges::is_sorted(infiniband_programs()));
  EXPECT_EQ(package_of_program("opensm"), "opensm");
  EXPECT_EQ(package_of_program("ibstat"), "infiniband-diags");
  EXPECT_EQ(package_of_program("perfquery"), "infiniband-diags");
  EXPECT_EQ(package_of_program("ls"), "");
}

TEST_F(InfinibandProgramTest, TheLibraryIsBesideTheProgram) {
  const std::filesystem::path bin = directory_ / "bin";
  const auto missing = find_umad_library(bin);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message,
              HasSubstr("no libibumad.so.3 in " + directory_.path().string()));
  const std::filesystem::path folder = directory_ / "lib/paravane/infiniband";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "libibumad.so.3") << "x";
  EXPECT_EQ(find_umad_library(bin).value(), folder.string());
}

TEST(UmadDoor, IsBesideTheSocketOfTheApi) {
  EXPECT_EQ(umad_door_beside("/run/paravane/api.sock"), "/run/paravane/umad.sock");
  EXPECT_EQ(umad_door_beside("api.sock"), "umad.sock");
}

TEST(LibraryPath, KeepsWhatWasThere) {
  EXPECT_EQ(library_path("/ours", nullptr), "/ours");
  EXPECT_EQ(library_path("/ours", ""), "/ours");
  EXPECT_EQ(library_path("/ours", "/a:/b"), "/ours:/a:/b");
}

TEST_F(InfinibandProgramTest, GetsItsArgumentsAndEnvironment) {
  const std::string script =
      make_script("tool",
                  "test \"$#:$1:$2\" = '2:-d:a b' || exit 1\n"
                  "test \"$PARAVANE_UMAD_DOOR\" = /run/x/umad.sock || exit 2\n"
                  "test \"${LD_LIBRARY_PATH%%:*}\" = /ours || exit 3\n"
                  "exit 42\n");
  EXPECT_EXIT(execute(program({script, "-d", "a b"})), ExitedWithCode(42), "");
}

TEST_F(InfinibandProgramTest, FindsASocketThatWasNamedFromHere) {
  const std::string script =
      make_script("tool", "test \"$PARAVANE_UMAD_DOOR\" = \"$PWD/x.sock\"\n");
  InfinibandProgram named = program({script});
  named.door = "x.sock";
  EXPECT_EXIT(execute(named), ExitedWithCode(0), "");
}

TEST_F(InfinibandProgramTest, IsInPath) {
  make_script("tool-in-path", "exit 7\n");
  const auto run = [this] {
    ::setenv("PATH", (directory_.path().string() + ":/bin").c_str(), 1);
    execute(program({"tool-in-path"}));
  };
  EXPECT_EXIT(run(), ExitedWithCode(7), "");
}

// One that is a link to this program would run itself for ever.
TEST_F(InfinibandProgramTest, IsNoOtherNameOfThisProgram) {
  const std::filesystem::path ours = directory_ / "ours";
  std::filesystem::create_directories(ours);
  std::filesystem::create_symlink(std::filesystem::canonical("/proc/self/exe"), ours / "ibtool");
  const std::string path = ours.string() + ":" + directory_.path().string();
  EXPECT_EQ(find_program("ibtool", path.c_str()), "");
  const std::string script = make_script("ibtool", "exit 0\n");
  EXPECT_EQ(find_program("ibtool", path.c_str()), script);
  EXPECT_EQ(find_program("/a/ibtool", path.c_str()), "/a/ibtool");
  ::chmod(script.c_str(), 0644);
  EXPECT_EQ(find_program("ibtool", path.c_str()), script) << "why not is told when it is executed";
  EXPECT_EQ(find_program("ibtool", ""), "");
  EXPECT_EQ(find_program("no-such-tool", nullptr), "");
}

TEST_F(InfinibandProgramTest, IsFoundInTheFolderForAdministrators) {
  if (::access("/usr/sbin/nologin", X_OK) != 0) GTEST_SKIP() << "no program is known to be there";
  const auto run = [] {
    ::setenv("PATH", "/nonexistent", 1);
    execute(program({"nologin"}));
  };
  EXPECT_EXIT(run(), ExitedWithCode(1), "");  // as nologin(8) says
}

TEST_F(InfinibandProgramTest, ASignalEndsIt) {
  const std::string script = make_script("tool", "kill -TERM $$\n");
  EXPECT_EXIT(execute(program({script})), KilledBySignal(SIGTERM), "");
}

TEST_F(InfinibandProgramTest, SaysWhyItIsNotExecuted) {
  // In children: this process keeps its environment.
  const auto code_of = [](const std::string& name) {
    std::_Exit(execute(program({name})).code == Errc::kNotFound ? 1 : 2);
  };
  EXPECT_EXIT(code_of("no-such-program"), ExitedWithCode(1), "");
  EXPECT_EXIT(code_of("/nonexistent/ibstat"), ExitedWithCode(1), "");
  EXPECT_EXIT(code_of(make_script("plain", "", 0644)), ExitedWithCode(2), "");
}

}  // namespace
}  // namespace paravane::cli
