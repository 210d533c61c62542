#include "vmm/qemu_program.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

#include "base/unique_fd.h"

namespace paravane::vmm {
namespace {

using testing::HasSubstr;

TEST(QemuVersion, IsReadFromWhatQemuSays) {
  EXPECT_EQ(parse_qemu_version("QEMU emulator version 10.1.2 (Debian 1:10.1.2+ds-1)\nCopyright"),
            (QemuVersion{10, 1}));
  EXPECT_EQ(parse_qemu_version("QEMU emulator version 7.2.0"), (QemuVersion{7, 2}));
  EXPECT_LT((QemuVersion{9, 2}), kOldestQemu);
  EXPECT_GT((QemuVersion{11, 0}), kOldestQemu);
  for (const char* text : {"", "QEMU emulator version ", "QEMU emulator version 10", "version 10.1",
                           "QEMU emulator version x.1", "QEMU emulator version 99999999999.1"}) {
    EXPECT_FALSE(parse_qemu_version(text)) << text;
  }
}

class QemuProgramTest : public testing::Test {
 protected:
  ~QemuProgramTest() override { ::unlink(path_.c_str()); }

  void write(const std::string& script) {
    std::ofstream(path_) << "#!/bin/sh\n" << script << "\n";
    ::chmod(path_.c_str(), 0755);
  }
  // What qemu_version() says of a program that does this.
  std::string complaint(const std::string& script) {
    write(script);
    const auto version = qemu_version(path_);
    return version ? "" : version.error().message;
  }
  std::string path_ = testing::TempDir() + "qemu-" + std::to_string(::getpid());
};

TEST_F(QemuProgramTest, MayBeNewEnough) {
  EXPECT_EQ(complaint("echo QEMU emulator version 10.1.0"), "");
}

// It runs as a user whom nobody trusts.
TEST_F(QemuProgramTest, HasNothingThatIsOpenHere) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const UniqueFd out(ends[0]), in(ends[1]);
  ASSERT_EQ(::write(in.get(), "1.0\n", 4), 4);
  const UniqueFd before(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  ASSERT_EQ(::dup2(out.get(), STDIN_FILENO), STDIN_FILENO);
  EXPECT_EQ(complaint("read version; echo QEMU emulator version ${version:-10.1}"), "");
  ASSERT_EQ(::dup2(before.get(), STDIN_FILENO), STDIN_FILENO);
  const std::string inherited = "/proc/$$/fd/" + std::to_string(in.get());
  EXPECT_EQ(complaint("test -e " + inherited + " || echo QEMU emulator version 10.1"), "");
}

TEST_F(QemuProgramTest, MayBeTooOld) {
  EXPECT_THAT(complaint("echo QEMU emulator version 7.2.19"),
              testing::AllOf(HasSubstr("is version 7.2"), HasSubstr("trixie-backports")));
}

TEST_F(QemuProgramTest, MayBeNoQemu) {
  EXPECT_THAT(complaint("echo hello; exit 1"), HasSubstr("is not QEMU"));
  EXPECT_THAT(complaint("yes"), HasSubstr("is not QEMU"));
  EXPECT_THAT(qemu_version("/nonexistent").error().message, HasSubstr("PARAVANE_QEMU"));
}

TEST_F(QemuProgramTest, MayBeBuiltWithoutTheDevice) {
  write("[ \"$*\" = '-device vfio-user-pci,help' ] && echo 'vfio-user-pci options:'");
  EXPECT_TRUE(check_vfio_user(path_));
  write("echo \"Device 'vfio-user-pci' not found\" >&2; exit 1");
  const Status without = check_vfio_user(path_);
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().message, HasSubstr("built without vfio-user-pci"));
}

}  // namespace
}  // namespace paravane::vmm
