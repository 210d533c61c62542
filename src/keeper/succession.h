// Succession replaces the engine by another one while VMs run. It is the one place that decides
// which of the two serves them: the engine never goes on by a clock of its own, and its heir
// touches nothing until it is told to.
//
//   engine               keeper                          heir
//     kUpgrade ------------>
//                          starts the heir --------------->
//                          <------------------------------ kHeirReady
//     <----------- kHandOver
//     the estate --------------------------------------->
//                          <------------------------------ kTaken
//     <-------------- kLetGo
//     exits
//                          kGo -------------------------->
//                          becomes the heir's program
//
// Until kTaken an upgrade can fail: the heir is ended, and only then the engine is told to go on.
// After kTaken it can only succeed: the engine is ended, and only then the heir is told to go.
//
// An engine that ends without having been told to has crashed. The keeper starts another at once,
// which gets what the holder has kept (holder/holder.h). So it is with one that ends after it was
// told to exit, if its heir has ended, too.
//
//   (ended)              keeper                          heir
//                          starts the heir --------------->
//                          <------------------------------ kHeirReady
//                          has the holder give ---------->
//                          <------------------------------ kTaken
//                          kGo -------------------------->
//
// Either engine may be compromised. A note that comes in another step is ignored, and upgrades are
// begun at most once in kApart, however often they are asked for.
//
// saved() and resume() carry what must not begin anew when the keeper is replaced.
//
// One thread. Reads no clock.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/instant.h"
#include "base/limited_log.h"
#include "base/result.h"
#include "privsep/process_link.h"

namespace paravane::keeper {

struct Crash {
  std::string how;           // for people: "was killed by signal 11 (SEGV)"
  bool came_from_outside{};  // nothing that the engine did for a VM can have been the cause
};

// What the keeper does for a Succession. The calls do not block.
class SuccessionHands {
 public:
  virtual ~SuccessionHands() = default;
  // `crash`: of the engine before it; null: it is to be replaced. Errors: any; the message says
  // what could not be started.
  virtual Status start_heir(const Crash* crash) = 0;
  // False: the other process does not read.
  virtual bool tell_engine(const privsep::Note& note) = 0;
  virtual bool tell_heir(const privsep::Note& note) = 0;
  // As tell_engine(), with the engine's side of the estate line.
  virtual bool give_estate_line(const privsep::Note& note) = 0;
  // Has the holder give the heir what it holds of the engine that has ended. False: it has ended.
  virtual bool give_what_is_held() = 0;
  // Whether it has not ended. False also for an heir whose end is not reported yet.
  virtual bool is_heir_alive() = 0;
  // Ends a process by force. Its end is reported later.
  virtual void kill_engine() = 0;
  virtual void kill_heir() = 0;
  // The heir is the engine from now on.
  virtual void succeed() = 0;
  // After that, if it was an upgrade: the keeper is to be replaced by the heir's program, which
  // reads that form of its record (privsep::kKeeperRecord).
  virtual void replace_keeper(std::uint32_t form) = 0;
};

class Succession {
 public:
  static constexpr Duration kApart = std::chrono::seconds(10);  // from start to start
  static constexpr Duration kToStart = std::chrono::seconds(10);
  static constexpr Duration kToHandOver = std::chrono::seconds(5);
  static constexpr Duration kToLetGo = std::chrono::milliseconds(500);
  static constexpr Duration kTellAgain = std::chrono::milliseconds(200);
  // So many engines in a row are started in place of one that was killed, each within kInARow of
  // the last. A VM whose requests end the engine is cut off before (worker/vm_port.h).
  static constexpr int kMostRecoveries = 8;
  static constexpr Duration kInARow = std::chrono::minutes(1);
  // For which is_busy() is true at most, unless a process that was killed does not end: an upgrade,
  // and all recoveries that may follow.
  static constexpr Duration kLongest =
      kToStart + kToHandOver + kToLetGo + kMostRecoveries * 2 * kToStart;

  // Between two upgrades.
  struct Saved {
    std::string version;  // of the engine
    Instant earliest{};   // of the next upgrade
    int recoveries{};     // in a row
    Instant last_recovery{};

    friend bool operator==(const Saved&, const Saved&) = default;
  };

  // `version`: of the engine that runs. `hands` outlives us.
  Succession(SuccessionHands& hands, std::string version);

  // Each note of an upgrade (kUpgrade to kResume) that the process has sent.
  void on_engine_note(const privsep::Note& note, Instant now);
  void on_heir_note(const privsep::Note& note, Instant now);

  // The process has ended, and does not exist any more. True: its end belongs to the upgrade, or
  // another engine is being started; false: the keeper has no engine. `may_go_on`: the end was not
  // wanted, and another engine may take its place.
  bool on_engine_ended(const Crash& crash, bool may_go_on, Instant now);
  void on_heir_ended(const std::string& how, Instant now);

  // No engine can be started in place of the one that has ended.
  bool is_over() const { return step_ == Step::kOver; }

  // The daemon is to stop. An upgrade that is not certain to succeed fails.
  void give_up(const std::string& reason, Instant now);

  void step(Instant now);
  Instant next_step() const { return deadline_; }
  // REQUIRES: !is_busy().
  Saved saved() const;
  void resume(const Saved& saved, Instant now);

  // Whether the engine may be replaced soon; a signal for it has to wait.
  bool is_busy() const { return step_ >= Step::kStarting && step_ <= Step::kRecovering; }

 private:
  enum class Step : std::uint8_t {
    kIdle,
    kWaiting,      // asked for, too early after the last one
    kStarting,     // for kHeirReady
    kHandingOver,  // for kTaken
    kLettingGo,    // for the end of the engine
    kLost,         // likewise, and the heir has ended
    kEnding,       // for the end of the heir
    kReviving,     // there is no engine: for kHeirReady
    kRecovering,   // likewise, for kTaken
    kTelling,      // for the engine to read how it ended
    kOver,
  };

  void ask(const privsep::Note& note, Instant now);
  void begin(Instant now);
  void on_ready(const std::string& facts, Instant now);
  void on_taken(Instant now);
  // Ends the heir, and tells the engine `outcome` afterwards.
  void end_heir(std::string outcome);
  void fail_with(const std::string& cause);
  void revive(Instant now);
  void on_ready_to_recover(const std::string& text, Instant now);
  void serve_with_heir();
  void tell_outcome(Instant now);
  void ignore(const char* sender, const privsep::Note& note, Instant now);

  SuccessionHands& hands_;
  std::string version_;  // of the engine
  std::string heirs_version_;
  std::uint32_t heirs_record_ = 0;  // that it reads
  Step step_ = Step::kIdle;
  Instant deadline_ = kNever;
  Instant earliest_{};  // of the next upgrade
  bool only_check_ = false;
  std::string outcome_;
  std::optional<Crash> crash_;  // there is no engine
  int recoveries_ = 0;
  Instant last_recovery_{};
  LimitedLog ignored_;
};

}  // namespace paravane::keeper
