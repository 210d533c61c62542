// SwitchLine lets the engine, the unprivileged process, create the distributed switches on this
// host. It sends a plan to the keeper, the privileged process, which creates them, and waits for
// the report. Other messages that arrive in the meantime are passed to a callback that the caller
// supplies.
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

  // What the keeper found and repaired without a request. `report` nullopt: the message is about an
  // earlier plan, and only `mended` is valid. read_news() reads it from the text of the keeper's
  // message. Errors: kInvalidArgument.
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

// The keeper's side: applies a plan and returns the report, both as texts of messages.
std::string answer_plan(std::string_view text, SwitchMaker& maker);

}  // namespace paravane::privsep
