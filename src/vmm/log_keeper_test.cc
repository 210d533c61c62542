#include "vmm/log_keeper.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <thread>

namespace paravane::vmm {
namespace {

struct Log {
  Log() : file(::memfd_create("log", MFD_CLOEXEC)) {}
  std::string text() const {
    std::string all(static_cast<std::size_t>(::lseek(file.get(), 0, SEEK_END)), '\0');
    EXPECT_EQ(::pread(file.get(), all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
    return all;
  }
  UniqueFd file;
};

void write_lines(const UniqueFd& to, int count) {
  for (int line = 0; line < count; ++line) {
    const std::string text = "line " + std::to_string(line) + "\n";
    ASSERT_EQ(::write(to.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
}

// All of it, with the file's size looked at in between.
void carry(const Log& log, int lines, std::size_t most) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  std::jthread carrier([&] { carry_log(out.get(), log.file.get(), most); });
  write_lines(in, lines);
  in.reset();
}

TEST(LogKeeper, CarriesAllThatIsSaid) {
  const Log log;
  carry(log, 3, 1000);
  EXPECT_EQ(log.text(), "line 0\nline 1\nline 2\n");
}

TEST(LogKeeper, DropsTheOlderHalfOfAFullLogAtALinesStart) {
  const Log log;
  carry(log, 100'000, 1000);
  const std::string text = log.text();
  EXPECT_LE(text.size(), 1000u);
  EXPECT_GE(text.size(), 250u);
  EXPECT_THAT(text, testing::StartsWith("line "));
  EXPECT_THAT(text, testing::EndsWith("line 99998\nline 99999\n"));
}

TEST(LogKeeper, TakesALineWithoutEnd) {
  const Log log;
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const UniqueFd out(ends[0]);
  UniqueFd in(ends[1]);
  std::jthread carrier([&] { carry_log(out.get(), log.file.get(), 1000); });
  const std::string much(10'000, 'x');
  EXPECT_EQ(::write(in.get(), much.data(), much.size()), static_cast<ssize_t>(much.size()));
  in.reset();
  carrier.join();
  EXPECT_LE(log.text().size(), 1000u);
}

TEST(LogKeeper, IsAProcessThatEndsWithItsWritersAndHasTheFilesLock) {
  const std::string path = testing::TempDir() + "log_keeper_test";
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const UniqueFd look(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ::unlink(path.c_str());
  ASSERT_EQ(::flock(file.get(), LOCK_EX | LOCK_NB), 0);
  auto in = keep_log(file, Account{.name = "root", .user = ::geteuid(), .group = ::getegid()});
  ASSERT_TRUE(in) << in.error().message;
  file.reset();
  EXPECT_NE(::flock(look.get(), LOCK_SH | LOCK_NB), 0);
  write_lines(*in, 2);
  in->reset();
  ASSERT_EQ(::flock(look.get(), LOCK_SH), 0);  // waits for its end
  std::array<char, 100> bytes;
  EXPECT_EQ(::pread(look.get(), bytes.data(), bytes.size(), 0), 14);
}

}  // namespace
}  // namespace paravane::vmm
