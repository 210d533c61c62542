// Sends a request from the engine to the keeper and waits for its report. Request and report are
// notes whose text begins with the same number; other notes that arrive in the meantime are passed
// on.
//
// Control thread only; blocks it for at most the time that the request allows.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "privsep/process_link.h"

namespace paravane::privsep {

struct KeeperQuestion {
  Note::Kind kind{};    // of the question
  Note::Kind report{};  // of what is waited for
  std::uint64_t number = 0;
  std::string text;
  std::chrono::milliseconds patience{};
};

inline constexpr std::size_t kMaxQuestionNumber = 20;  // digits

// What follows the number in the report. Errors: kIo.
using OtherNote = std::function<void(ProcessLink::NoteWithSocket)>;
Result<std::string> ask_keeper(const ProcessLink& keeper, const KeeperQuestion& question,
                               const OtherNote& other_note);

// Of the text of a question or report: its number, and what follows.
struct NumberedText {
  std::string_view number;
  std::string_view text;
};
NumberedText split_number(std::string_view text);

}  // namespace paravane::privsep
