// SwitchLine: the engine's proxy for creating switches, which the keeper does. It sends a plan and
// waits for the report; other notes that arrive in the meantime are passed on.
//
// Control thread only. The keeper's side is keeper/switch_follower.h.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "privsep/keeper_question.h"
#include "privsep/switch_maker.h"

namespace paravane::privsep {

class SwitchLine final : public SwitchMaker {
 public:
  // `keeper` outlives us.
  SwitchLine(const ProcessLink& keeper, OtherNote other_note)
      : keeper_(keeper), other_note_(std::move(other_note)) {}

  SwitchReport make(const SwitchPlan& plan) override;

  // What the keeper found and mended unasked, from the text of its note. `report` nullopt: it
  // is of an earlier plan, and only what was mended counts. Errors: kInvalidArgument.
  struct News {
    std::vector<model::MendedLink> mended;
    std::optional<SwitchReport> report;
  };
  Result<News> read_news(std::string_view text) const;

 private:
  const ProcessLink& keeper_;
  OtherNote other_note_;
  std::uint64_t next_ = 1;  // the number of a plan, which its report has too
};

// The keeper's side of it: the report to the text of a plan, for the text of a note.
std::string answer_plan(std::string_view text, SwitchMaker& maker);

}  // namespace paravane::privsep
