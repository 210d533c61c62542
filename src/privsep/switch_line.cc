#include "privsep/switch_line.h"

#include <fmt/core.h>

#include <chrono>
#include <string>
#include <utility>

namespace paravane::privsep {
namespace {

// Less than the API's clients wait for an answer.
constexpr auto kSwitchPatience = std::chrono::seconds(10);

static_assert(kMaxPlanText + kMaxQuestionNumber + 1 <= Note::kMaxLongText);
static_assert(kMaxReportText + kMaxQuestionNumber + 1 <= Note::kMaxLongText);

}  // namespace

SwitchReport SwitchLine::make(const SwitchPlan& plan) {
  Result<std::string> text = print(plan);
  if (!text) return {.problem = text.error().message};
  const auto answer = ask_keeper(keeper_,
                                 {.kind = Note::Kind::kSwitchPlan,
                                  .report = Note::Kind::kSwitchReport,
                                  .number = next_++,
                                  .text = std::move(*text),
                                  .patience = kSwitchPatience},
                                 other_note_);
  if (!answer) return {.problem = answer.error().message};
  Result<SwitchReport> report = parse_switch_report(*answer);
  return report ? std::move(*report) : SwitchReport{.problem = report.error().message};
}

Result<SwitchLine::News> SwitchLine::read_news(std::string_view text) const {
  const NumberedText numbered = split_number(text);
  Result<SwitchReport> report = parse_switch_report(numbered.text);
  if (!report) return std::unexpected(report.error());
  News news{.mended = std::exchange(report->mended, {}), .report = {}};
  if (numbered.number == std::to_string(next_ - 1)) news.report = std::move(*report);
  return news;
}

std::string answer_plan(std::string_view text, SwitchMaker& maker) {
  const NumberedText question = split_number(text);
  const Result<SwitchPlan> plan = parse_switch_plan(question.text);
  const SwitchReport report =
      plan ? maker.make(*plan) : SwitchReport{.problem = "refused: " + plan.error().message};
  return fmt::format("{} {}", question.number, print(report));
}

}  // namespace paravane::privsep
