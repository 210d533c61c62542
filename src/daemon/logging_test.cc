#include "daemon/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/log.h"
#include "base/unique_fd.h"
#include "daemon/log_writer.h"

namespace paravane::daemon {
namespace {

using testing::HasSubstr;

TEST(Logging, WritesJsonThatHoldsAnything) {
  testing::internal::CaptureStderr();
  const auto before = spdlog::default_logger();
  {
    const Logging logging({.level = "info", .format = settings::LogFormat::kJson});
    log::info("vm {}: \"quoted\"\nsecond line \xff", "db1");
    log::debug("not this");
  }
  spdlog::set_default_logger(before);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
  const auto line = nlohmann::json::parse(text, nullptr, false);
  ASSERT_TRUE(line.is_object()) << text;
  EXPECT_EQ(line.at("level"), "info");
  EXPECT_THAT(line.at("message").get<std::string>(), HasSubstr("\"quoted\"\nsecond line"));
}

// A reader who does not read: the pipe is full, and nobody who logs waits.
TEST(LogWriter, NeverWaitsForItsReader) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);
  UniqueFd reader(ends[0]);
  UniqueFd writing_end(ends[1]);
  std::string text;
  std::thread late;
  {
    LogWriter writer(writing_end.get());
    for (std::size_t i = 0; i < 3 * LogWriter::kMaxLines; ++i)
      writer.push(std::string(99, 'x') + "\n");
    // To its end: who leaves in between leaves the writer with a full pipe.
    late = std::thread([&] {
      char buffer[65536];
      for (ssize_t count = 0; (count = read(reader.get(), buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(count));
    });
  }
  writing_end.reset();
  late.join();
  EXPECT_THAT(text, HasSubstr("log lines were dropped)\n"));
}

TEST(LogWriter, IsWaitedForUntilAllIsWritten) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writing_end(ends[1]);
  LogWriter writer(writing_end.get());
  std::array<char, 16> text{};
  for (int round = 0; round < 100; ++round) {
    writer.push("one\n");
    writer.push("two\n");
    writer.flush(std::chrono::seconds(30));
    ASSERT_EQ(read(reader.get(), text.data(), text.size()), 8) << round;
  }
}

TEST(LogWriter, IsNotWaitedForLongerThanForAWhile) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writing_end(ends[1]);
  LogWriter writer(writing_end.get());
  const std::string line = std::string(1 << 20, 'x') + "\n";  // more than the pipe takes
  writer.push(line);
  writer.flush(std::chrono::milliseconds(1));
  std::size_t written = 0;
  std::array<char, 65536> text{};
  while (written < line.size()) {
    const ssize_t count = read(reader.get(), text.data(), text.size());
    ASSERT_GT(count, 0);
    written += static_cast<std::size_t>(count);
  }
  EXPECT_EQ(written, line.size());
}

}  // namespace
}  // namespace paravane::daemon
