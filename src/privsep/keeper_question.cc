#include "privsep/keeper_question.h"

#include <poll.h>

#include <algorithm>

namespace paravane::privsep {
namespace {

using Clock = std::chrono::steady_clock;

bool wait_readable(int fd, Clock::time_point until) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  pollfd poll{.fd = fd, .events = POLLIN, .revents = 0};
  return left > 0 && ::poll(&poll, 1, static_cast<int>(left)) != 0;  // also when interrupted
}

}  // namespace

Result<std::string> ask_keeper(const ProcessLink& keeper, const KeeperQuestion& question,
                               const OtherNote& other_note) {
  const std::string number = std::to_string(question.number);
  if (!keeper.send({.kind = question.kind, .text = number + " " + question.text})) {
    return fail(Errc::kIo, "cannot send to the privileged process");
  }
  const auto until = Clock::now() + question.patience;
  while (wait_readable(keeper.fd(), until)) {
    auto received = keeper.receive_with_socket();
    if (!received) return std::unexpected(received.error());
    if (!*received) continue;
    if ((*received)->note.kind != question.report) {
      other_note(std::move(**received));
      continue;
    }
    const NumberedText report = split_number((*received)->note.text);
    if (report.number == number) return std::string(report.text);
    // Else of a question that was given up.
  }
  return fail(Errc::kIo, "the privileged process did not respond in time");
}

NumberedText split_number(std::string_view text) {
  const std::size_t blank = std::min(text.find(' '), std::min(kMaxQuestionNumber, text.size()));
  return {.number = text.substr(0, blank), .text = text.substr(std::min(blank + 1, text.size()))};
}

}  // namespace paravane::privsep
