#include "cli/new_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "testing/temp_dir.h"

namespace paravane::cli {
namespace {

using testing::HasSubstr;

class NewFileTest : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return (directory_.path() / name).string(); }

  TempDir directory_;
};

TEST_F(NewFileTest, OnlyTheUserReadsIt) {
  ASSERT_TRUE(check_new_file(file("backup")));
  ASSERT_TRUE(write_new_file(file("backup"), "sealed"));
  struct stat info{};
  ASSERT_EQ(::stat(file("backup").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  EXPECT_EQ(info.st_size, 6);
}

TEST_F(NewFileTest, OneThatIsThereStays) {
  std::ofstream(file("backup")) << "before";
  for (const auto& refused :
       {check_new_file(file("backup")), write_new_file(file("backup"), "sealed")}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().problem, file("backup") + " already exists");
    EXPECT_THAT(refused.error().remedy, HasSubstr("another name"));
  }
  EXPECT_EQ(std::filesystem::file_size(file("backup")), 6U);
}

TEST_F(NewFileTest, ADirectoryThatIsMissingIsToBeMade) {
  for (const auto& refused :
       {check_new_file(file("none/backup")), write_new_file(file("none/backup"), "sealed")}) {
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().problem, HasSubstr("No such file or directory"));
    EXPECT_EQ(refused.error().remedy, "Create the directory first: mkdir -p " + file("none"));
  }
}

TEST_F(NewFileTest, WhatIsNoDirectoryIsNamed) {
  std::ofstream(file("plain")) << "x";
  const auto refused = check_new_file(file("plain/backup"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().remedy, "Name a file in a directory.");
}

TEST_F(NewFileTest, OfOneThatCannotBeWrittenWholeNothingIsLeft) {
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit all{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &all), 0);
  const rlimit little{.rlim_cur = 4, .rlim_max = all.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  const auto refused = write_new_file(file("backup"), "sealed");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &all), 0);
  std::signal(SIGXFSZ, before);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().problem, HasSubstr("no file was left behind"));
  EXPECT_FALSE(std::filesystem::exists(file("backup")));
}

}  // namespace
}  // namespace paravane::cli
