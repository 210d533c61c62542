#include "keeper/holder_process.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "privsep/holder_word.h"
#include "privsep/parcel.h"

namespace paravane::keeper {

using privsep::HolderWord;

Result<HolderProcess> HolderProcess::start(const Body& body) {
  auto line = privsep::ParcelLine::make();
  if (!line) return std::unexpected(line.error());
  auto& [ours, theirs] = *line;
  const pid_t child = ::fork();
  if (child < 0) return fail_by_system(Errc::kIo, "fork", errno);
  if (child == 0) {
    ours.reset();
    ::_exit(body(std::move(theirs)));
  }
  return HolderProcess(child, std::move(ours));
}

Result<std::array<UniqueFd, 2>> HolderProcess::make_engine_line() {
  return privsep::ParcelLine::make();
}

Result<UniqueFd> HolderProcess::new_engine() {
  auto line = make_engine_line();
  if (!line) return std::unexpected(line.error());
  if (!hear_engine((*line)[1])) return fail(Errc::kIo, "the holder has ended");
  return std::move((*line)[0]);
}

bool HolderProcess::hear_engine(const UniqueFd& holders_side) const {
  return privsep::say_to_holder(line_.get(), HolderWord::What::kHear, holders_side.get());
}

bool HolderProcess::give(const UniqueFd& estate) const {
  return privsep::say_to_holder(line_.get(), HolderWord::What::kGive, estate.get());
}

}  // namespace paravane::keeper
