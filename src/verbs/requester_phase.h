// Defines the phases of a requester (the half of a queue pair that executes its send requests), and
// the transitions between them.
//
// The transitions are in one table, so that a reader can see how each wait begins and ends, and a
// test can check every pair of phases. No other code changes the phase of a requester.
//
// Each phase that waits (kAwaits...) has a timer and ends at the latest when the timer expires. A
// wait delays only its own requester. When it ends, the adapter schedules the queue pair again.
//
// Plain values; any thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace paravane::verbs {

enum class RequesterPhase : std::uint8_t {
  kOpen,           // the request in hand may be tried, or another be taken
  kSubmitting,     // inside Transport::submit()
  kBlocked,        // nothing can be done before the next outcome: the transport has all that
                   // it can carry, or the request in hand must go alone
  kAwaitsAnswer,   // the retry timer runs
  kAwaitsPeer,     // a look now and then whether the peer has come, which spends no retry: of a
                   // connection without a timeout, which waits for ever, of an adapter that was
                   // loaded a moment ago, and while the peer's host has asked to be waited for
  kAwaitsReceive,  // the RNR timer runs
  kAwaitsMemory,   // memory of either side, or room on a path, is absent at the moment
  kAwaitsRing,     // nothing in hand, for the ring is unmapped at the moment
};
inline constexpr std::size_t kRequesterPhases = 8;

enum class RequesterEvent : std::uint8_t {
  // What became of the request in hand, or of the look for one.
  kSubmit,    // it is handed to the transport
  kReturned,  // the transport has it, or has said what became of it
  kBlock,     // it, or the next one, has to let those that are carried go first
  kAwaitAnswer,
  kAwaitPeer,  // as kAwaitAnswer, of a wait that spends no retry
  kAwaitReceive,
  kAwaitMemory,
  kAwaitRing,
  // What comes from outside.
  kDone,       // the oldest of those that are carried is done
  kFailed,     // it is not, and all that are carried are in hand again
  kTimer,      // that of the wait is due
  kPeerReady,  // the peer has a receive
  kPathBack,   // there is a way to the peer's host again
  kStop,       // the queue pair goes to ERR or RESET
};
inline constexpr std::size_t kRequesterEvents = 14;

constexpr bool is_wait(RequesterPhase phase) {
  return phase >= RequesterPhase::kAwaitsAnswer;
}

// One row for each event, in the order of RequesterEvent, and one column for each phase in which
// the event may occur. The entry is the next phase; nullopt: the event cannot occur in that phase.
struct RequesterRow {
  RequesterEvent event;
  std::array<std::optional<RequesterPhase>, kRequesterPhases> to;
};

inline constexpr std::array<RequesterRow, kRequesterEvents> kRequesterTable = [] {
  using enum RequesterEvent;
  using To = std::optional<RequesterPhase>;
  const To none;
  const To open = RequesterPhase::kOpen;
  const To submit = RequesterPhase::kSubmitting;
  const To blocked = RequesterPhase::kBlocked;
  const To answer = RequesterPhase::kAwaitsAnswer;
  const To peer = RequesterPhase::kAwaitsPeer;
  const To receive = RequesterPhase::kAwaitsReceive;
  const To memory = RequesterPhase::kAwaitsMemory;
  const To ring = RequesterPhase::kAwaitsRing;
  // clang-format off
  return std::array<RequesterRow, kRequesterEvents>{{
      // in               open     submit  blocked  answer  peer  receive  memory  ring
      {kSubmit,       {{  submit,  none,   none,    none,   none, none,    none,   none }}},
      {kReturned,     {{  none,    open,   none,    none,   none, none,    none,   none }}},
      {kBlock,        {{  blocked, none,   none,    none,   none, none,    none,   none }}},
      {kAwaitAnswer,  {{  answer,  none,   none,    none,   none, none,    none,   none }}},
      {kAwaitPeer,    {{  peer,    none,   none,    none,   none, none,    none,   none }}},
      {kAwaitReceive, {{  receive, none,   none,    none,   none, none,    none,   none }}},
      {kAwaitMemory,  {{  memory,  none,   none,    none,   none, none,    none,   none }}},
      {kAwaitRing,    {{  ring,    none,   none,    none,   none, none,    none,   none }}},
      // Nothing is carried in a wait for what the oldest request needs.
      {kDone,         {{  open,    none,   open,    none,   none, none,    none,   ring }}},
      {kFailed,       {{  open,    none,   open,    none,   none, none,    none,   open }}},
      {kTimer,        {{  none,    none,   none,    open,   open, open,    open,   open }}},
      // These two come at any time.
      {kPeerReady,    {{  open,    submit, blocked, answer, peer, open,    memory, ring }}},
      {kPathBack,     {{  open,    submit, blocked, open,   open, receive, memory, ring }}},
      // In submit: the queue pair is its own peer and has failed. The submit has yet to return.
      {kStop,         {{  open,    submit, open,    open,   open, open,    open,   open }}},
  }};
  // clang-format on
}();

static_assert([] {
  for (std::size_t i = 0; i < kRequesterEvents; ++i) {
    if (std::to_underlying(kRequesterTable[i].event) != i) return false;
  }
  return true;
}());

// nullopt: `event` cannot come in `phase`.
constexpr std::optional<RequesterPhase> next_phase(RequesterPhase phase, RequesterEvent event) {
  return kRequesterTable[std::to_underlying(event)].to[std::to_underlying(phase)];
}

// The same table for the data path, which takes two steps for each request; a step is one load
// without a branch. An event that cannot occur changes nothing.
inline constexpr auto kRequesterSteps = [] {
  std::array<std::array<RequesterPhase, kRequesterPhases>, kRequesterEvents> steps{};
  for (std::size_t event = 0; event < kRequesterEvents; ++event) {
    for (std::size_t phase = 0; phase < kRequesterPhases; ++phase) {
      steps[event][phase] =
          kRequesterTable[event].to[phase].value_or(static_cast<RequesterPhase>(phase));
    }
  }
  return steps;
}();

constexpr RequesterPhase step_from(RequesterPhase phase, RequesterEvent event) {
  return kRequesterSteps[std::to_underlying(event)][std::to_underlying(phase)];
}

}  // namespace paravane::verbs
