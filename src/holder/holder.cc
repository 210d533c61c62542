#include "holder/holder.h"

#include <poll.h>

#include <array>
#include <chrono>
#include <utility>

#include "privsep/holder_word.h"

namespace paravane::holder {
namespace {

using privsep::HolderWord;

// As long as the keeper gives an engine to take everything.
constexpr auto kGiveLimit = std::chrono::seconds(10);

}  // namespace

void Holder::run() {
  for (bool goes_on = true; goes_on;) {
    std::array<pollfd, 2> ready{};
    ready[0] = {.fd = keeper_.get(), .events = POLLIN, .revents = 0};
    ready[1] = {.fd = engine_ ? engine_->fd() : -1, .events = POLLIN, .revents = 0};
    if (::poll(ready.data(), ready.size(), -1) < 0) continue;
    if (ready[1].revents != 0) hear_engine();
    if (ready[0].revents != 0) goes_on = hear_keeper();
  }
}

bool Holder::hear_keeper() {
  auto word = privsep::hear_keeper(keeper_.get());
  if (!word) return false;
  switch (word->what) {
    case HolderWord::What::kHear: engine_.emplace(std::move(word->line)); break;
    case HolderWord::What::kGive: give(std::move(word->line)); break;
    case HolderWord::What::kNothing: break;
  }
  return true;
}

void Holder::hear_engine() {
  while (engine_) {
    auto news = engine_->receive();
    if (!news) {
      engine_.reset();  // it has ended, or says what it should not
    } else if (!*news) {
      return;
    } else if ((*news)->parcel) {
      shelf_.put(std::move(*(*news)->parcel));
    }
  }
}

// The last words of the engine first. What is given stays here: the next engine may be killed
// before it has put anything.
void Holder::give(UniqueFd line) {
  hear_engine();
  privsep::ParcelLine heir(std::move(line));
  const Instant deadline = std::chrono::steady_clock::now() + kGiveLimit;
  std::uint32_t given = 0;
  for (const auto& [name, parcel] : shelf_.parcels()) {
    if (!heir.send(parcel, deadline)) return;
    ++given;
  }
  static_cast<void>(heir.end(given, deadline));
}

}  // namespace paravane::holder
