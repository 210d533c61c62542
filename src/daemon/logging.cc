#include "daemon/logging.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

namespace paravane::daemon {
namespace {

// The text of a line as a JSON string: what guests can put there must not break
// out of it.
class JsonText final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm& /*time*/,
              spdlog::memory_buf_t& out) override {
    const nlohmann::json text(std::string(message.payload.data(), message.payload.size()));
    const std::string quoted = text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    out.append(quoted.data(), quoted.data() + quoted.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonText>();
  }
};

// Formats on the thread that logs, writes on the writer's.
class WriterSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit WriterSink(LogWriter& writer) : writer_(writer) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    writer_.push(std::string(line.data(), line.size()));
  }
  void flush_() override {}

 private:
  LogWriter& writer_;
};

std::unique_ptr<spdlog::formatter> make_formatter(settings::LogFormat format) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  if (format == settings::LogFormat::kJson) {
    formatter->add_flag<JsonText>('*').set_pattern(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%f%z","level":"%l","message":%*})");
  } else if (std::getenv("JOURNAL_STREAM") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    formatter->set_pattern("%l: %v");                     // the journal adds the time
  } else {
    formatter->set_pattern("%Y-%m-%d %H:%M:%S.%e %l: %v");
  }
  return formatter;
}

}  // namespace

void set_log_level(const std::string& level) {
  spdlog::set_level(spdlog::level::from_str(level));
}

Logging::Logging(const settings::LogConfig& config) : writer_(STDERR_FILENO) {
  auto logger =
      std::make_shared<spdlog::logger>("paravaned", std::make_shared<WriterSink>(writer_));
  logger->set_formatter(make_formatter(config.format));
  logger->set_level(spdlog::level::from_str(config.level));
  spdlog::set_default_logger(std::move(logger));
}

Logging::~Logging() {
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "paravaned", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
}

}  // namespace paravane::daemon
