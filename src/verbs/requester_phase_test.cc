#include "verbs/requester_phase.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace paravane::verbs {
namespace {

using enum RequesterPhase;

using Event = RequesterEvent;
using Key = std::pair<RequesterPhase, RequesterEvent>;

const std::vector<RequesterPhase> kPhases = {kOpen,         kSubmitting, kBlocked,
                                             kAwaitsAnswer, kAwaitsPeer, kAwaitsReceive,
                                             kAwaitsMemory, kAwaitsRing};
const std::vector<RequesterPhase> kWaits = {kAwaitsAnswer, kAwaitsPeer, kAwaitsReceive,
                                            kAwaitsMemory, kAwaitsRing};
const std::vector<RequesterEvent> kEvents = {
    Event::kSubmit,    Event::kReturned,     Event::kBlock,       Event::kAwaitAnswer,
    Event::kAwaitPeer, Event::kAwaitReceive, Event::kAwaitMemory, Event::kAwaitRing,
    Event::kDone,      Event::kFailed,       Event::kTimer,       Event::kPeerReady,
    Event::kPathBack,  Event::kStop};

// The whole table, written a second time, by hand, and by what it is for.
std::map<Key, RequesterPhase> expected_moves() {
  std::map<Key, RequesterPhase> moves;
  // What a peer may say at any time changes nothing, but for the wait that it is for.
  for (const RequesterPhase phase : kPhases) {
    moves[{phase, Event::kPeerReady}] = phase;
    moves[{phase, Event::kPathBack}] = phase;
  }
  moves[{kAwaitsReceive, Event::kPeerReady}] = kOpen;
  moves[{kAwaitsAnswer, Event::kPathBack}] = kOpen;
  moves[{kAwaitsPeer, Event::kPathBack}] = kOpen;
  // A try, and what may come of it.
  moves[{kOpen, Event::kSubmit}] = kSubmitting;
  moves[{kSubmitting, Event::kReturned}] = kOpen;
  moves[{kOpen, Event::kBlock}] = kBlocked;
  moves[{kOpen, Event::kAwaitAnswer}] = kAwaitsAnswer;
  moves[{kOpen, Event::kAwaitPeer}] = kAwaitsPeer;
  moves[{kOpen, Event::kAwaitReceive}] = kAwaitsReceive;
  moves[{kOpen, Event::kAwaitMemory}] = kAwaitsMemory;
  moves[{kOpen, Event::kAwaitRing}] = kAwaitsRing;
  // Requests are carried in these three; those that are do not fill the ring.
  moves[{kOpen, Event::kDone}] = kOpen;
  moves[{kBlocked, Event::kDone}] = kOpen;
  moves[{kAwaitsRing, Event::kDone}] = kAwaitsRing;
  moves[{kOpen, Event::kFailed}] = kOpen;
  moves[{kBlocked, Event::kFailed}] = kOpen;
  moves[{kAwaitsRing, Event::kFailed}] = kOpen;
  // Every wait ends with its timer.
  for (const RequesterPhase phase : kWaits) moves[{phase, Event::kTimer}] = kOpen;
  // Nothing holds up a flush, but that a submit has to return first.
  for (const RequesterPhase phase : kPhases) moves[{phase, Event::kStop}] = kOpen;
  moves[{kSubmitting, Event::kStop}] = kSubmitting;
  return moves;
}

std::string name(RequesterPhase phase, RequesterEvent event) {
  return "phase " + std::to_string(std::to_underlying(phase)) + ", event " +
         std::to_string(std::to_underlying(event));
}

TEST(RequesterPhase, EveryPairGoesWhereTheTableSaysOrCannotBe) {
  const std::map<Key, RequesterPhase> moves = expected_moves();
  ASSERT_EQ(kPhases.size(), kRequesterPhases);
  ASSERT_EQ(kEvents.size(), kRequesterEvents);
  for (const RequesterPhase phase : kPhases) {
    for (const RequesterEvent event : kEvents) {
      const auto move = moves.find({phase, event});
      const std::optional<RequesterPhase> expected =
          move != moves.end() ? std::optional(move->second) : std::nullopt;
      EXPECT_EQ(next_phase(phase, event), expected) << name(phase, event);
      EXPECT_EQ(step_from(phase, event), expected.value_or(phase)) << name(phase, event);
    }
  }
}

TEST(RequesterPhase, ATimerRunsInWaitsAndNowhereElse) {
  for (const RequesterPhase phase : kPhases) {
    EXPECT_EQ(next_phase(phase, Event::kTimer).has_value(), is_wait(phase))
        << name(phase, Event::kTimer);
  }
}

}  // namespace
}  // namespace paravane::verbs
