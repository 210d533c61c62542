// ask_keeper() sends a request from the engine, the unprivileged process, to the keeper, the
// privileged process, and waits for the response. Both messages begin with the same number. Other
// messages that arrive in the meantime are passed to a callback that the caller supplies.
//
// Control thread only. The call blocks for at most the time limit of the request.

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

// Receives the messages that are not the response.
using OtherNote = std::function<void(ProcessLink::NoteWithSocket)>;
Result<std::string> ask_keeper(const ProcessLink& keeper, const KeeperQuestion& question,
                               const OtherNote& other_note);

// The text of a request or response, split into its number and the rest.
struct NumberedText {
  std::string_view number;
  std::string_view text;
};
NumberedText split_number(std::string_view text);

}  // namespace paravane::privsep
