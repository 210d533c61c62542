#include "base/directory_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "testing/temp_dir.h"

namespace paravane {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(DirectoryCheck, IsContentWithADirectory) {
  const TempDir dir;
  EXPECT_TRUE(check_directory(dir.path(), "state.directory"));
}

TEST(DirectoryCheck, SaysHowToMakeAMissingOne) {
  const TempDir dir;
  const Status checked = check_directory(dir / "none", "state.directory");
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message,
              AllOf(HasSubstr("state.directory"), HasSubstr("does not exist"),
                    HasSubstr("install -d -m 0750 " + (dir / "none").string())));
}

TEST(DirectoryCheck, RefusesAFile) {
  const TempDir dir;
  std::ofstream(dir / "file") << "x";
  const std::string message = check_directory(dir / "file", "x").error().message;
  EXPECT_THAT(message, HasSubstr("not a directory"));
  EXPECT_THAT(message, testing::Not(HasSubstr("install -d")));  // it would fail
}

}  // namespace
}  // namespace paravane
