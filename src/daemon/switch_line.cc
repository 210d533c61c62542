#include "daemon/switch_line.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace paravane::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// Less than the API's clients wait for an answer.
constexpr auto kPatience = std::chrono::seconds(10);

constexpr std::size_t kMaxNumber = 20;  // digits
static_assert(kMaxPlanText + kMaxNumber + 1 <= Note::kMaxLongText);
static_assert(kMaxReportText + kMaxNumber + 1 <= Note::kMaxLongText);

bool wait_readable(int fd, Clock::time_point until) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  pollfd poll{.fd = fd, .events = POLLIN, .revents = 0};
  return left > 0 && ::poll(&poll, 1, static_cast<int>(left)) != 0;  // also when interrupted
}

}  // namespace

SwitchReport SwitchLine::make(const SwitchPlan& plan) {
  const Result<std::string> text = print(plan);
  if (!text) return {.problem = text.error().message};
  const std::string number = std::to_string(next_++);
  if (!keeper_.send({.kind = Note::Kind::kSwitchPlan, .text = number + " " + *text})) {
    return {.problem = "the keeper does not listen"};
  }
  Result<SwitchReport> report = wait_for(number);
  return report ? std::move(*report) : SwitchReport{.problem = report.error().message};
}

Result<SwitchReport> SwitchLine::wait_for(std::string_view number) {
  const auto until = Clock::now() + kPatience;
  while (wait_readable(keeper_.fd(), until)) {
    auto received = keeper_.receive_with_socket();
    if (!received) return std::unexpected(received.error());
    if (!*received) continue;
    const Note& note = (*received)->note;
    if (note.kind != Note::Kind::kSwitchReport) {
      other_note_(std::move(**received));
      continue;
    }
    const std::string_view text = note.text;
    const std::size_t blank = std::min(text.find(' '), text.size());
    if (text.substr(0, blank) != number) continue;  // of a plan that was given up
    return parse_switch_report(text.substr(std::min(blank + 1, text.size())));
  }
  return fail(Errc::kIo, "the keeper did not answer in time");
}

std::string answer_plan(std::string_view text, SwitchMaker& maker) {
  const std::size_t blank = std::min(text.find(' '), kMaxNumber);
  const std::string_view number = text.substr(0, blank);
  text.remove_prefix(std::min(blank + 1, text.size()));
  const Result<SwitchPlan> plan = parse_switch_plan(text);
  const SwitchReport report =
      plan ? maker.make(*plan) : SwitchReport{.problem = "refused: " + plan.error().message};
  return fmt::format("{} {}", number, print(report));
}

}  // namespace paravane::daemon
