// The one decision which of two engines serves VMs.

#include "keeper/succession.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace paravane::keeper {
namespace {

using privsep::Note;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Writes down what was done, in order.
class FakeHands final : public SuccessionHands {
 public:
  Status start_heir(const Crash* crash) override {
    done.push_back(crash == nullptr ? "start heir" : "start heir after it " + crash->how);
    if (cannot_start) return fail(Errc::kIo, "cannot execute /usr/sbin/paravaned");
    heir = true;
    return {};
  }
  bool tell_engine(const Note& note) override { return say("engine", note, engine_reads); }
  bool tell_heir(const Note& note) override { return say("heir", note, true); }
  bool give_estate_line(const Note& note) override { return say("engine", note, engine_reads); }
  bool give_what_is_held() override {
    done.emplace_back("holder: give");
    return holder;
  }
  bool is_heir_alive() override { return heir; }
  void kill_engine() override { done.emplace_back("kill engine"); }
  void kill_heir() override { done.emplace_back("kill heir"); }
  void succeed() override { done.emplace_back("succeed"); }
  void replace_keeper(std::uint32_t form) override {
    done.push_back("replace keeper " + std::to_string(form));
  }

  std::vector<std::string> take() { return std::exchange(done, {}); }

  std::vector<std::string> done;
  bool cannot_start = false;
  bool engine_reads = true;
  bool heir = false;
  bool holder = true;

 private:
  bool say(const std::string& whom, const Note& note, bool reads) {
    static const std::map<Note::Kind, std::string> names = {{Note::Kind::kHandOver, "hand over"},
                                                            {Note::Kind::kLetGo, "let go"},
                                                            {Note::Kind::kGo, "go"},
                                                            {Note::Kind::kResume, "resume"}};
    if (!reads) return false;
    done.push_back(whom + ": " + names.at(note.kind) + (note.text.empty() ? "" : " " + note.text));
    return true;
  }
};

class SuccessionTest : public testing::Test {
 protected:
  void ask(const char* text = "") { engine(Note::Kind::kUpgrade, text); }
  void engine(Note::Kind kind, const char* text = "") {
    succession_.on_engine_note({.kind = kind, .text = text}, now_);
  }
  void heir(Note::Kind kind, const char* text = "") {
    succession_.on_heir_note({.kind = kind, .text = text}, now_);
  }
  void heir_ends() {
    hands_.heir = false;
    succession_.on_heir_ended("was killed by signal 9 (KILL)", now_);
  }
  // True: the keeper goes on.
  bool engine_ends() {
    return succession_.on_engine_ended({.how = "exited with status 0"}, false, now_);
  }
  bool engine_crashes() {
    return succession_.on_engine_ended({.how = "was killed by signal 11 (SEGV)"}, true, now_);
  }
  void pass(Duration time) {
    now_ += time;
    succession_.step(now_);
  }
  void come_to_ready() {
    ask();
    heir(Note::Kind::kHeirReady, "2.0.0 5 1 1");
    hands_.done.clear();
  }
  void come_to_taken() {
    come_to_ready();
    heir(Note::Kind::kTaken);
    hands_.done.clear();
  }

  Instant now_ = Instant{} + std::chrono::hours(1);
  FakeHands hands_;
  Succession succession_{hands_, "1.0.0"};
};

TEST_F(SuccessionTest, ReplacesTheEngine) {
  ask();
  EXPECT_THAT(hands_.take(), ElementsAre("start heir"));
  heir(Note::Kind::kHeirReady, "2.0.0 5 1 1");
  EXPECT_THAT(hands_.take(), ElementsAre("engine: hand over 2.0.0 5 1 1"));
  heir(Note::Kind::kTaken);
  EXPECT_THAT(hands_.take(), ElementsAre("engine: let go"));
  EXPECT_TRUE(engine_ends());
  EXPECT_THAT(hands_.take(), ElementsAre("heir: go 1.0.0", "succeed", "replace keeper 1"));
  EXPECT_FALSE(succession_.is_busy());
  EXPECT_EQ(succession_.next_step(), kNever);
}

TEST_F(SuccessionTest, HasTheNewEngineReplacedAsWell) {
  come_to_taken();
  engine_ends();
  pass(Succession::kApart);
  hands_.done.clear();
  ask();
  heir(Note::Kind::kHeirReady, "3.0.0 5 1 1");
  heir(Note::Kind::kTaken);
  engine_ends();
  EXPECT_THAT(hands_.take(),
              ElementsAre("start heir", "engine: hand over 3.0.0 5 1 1", "engine: let go",
                          "heir: go 2.0.0", "succeed", "replace keeper 1"));
}

TEST_F(SuccessionTest, ChecksWithoutReplacing) {
  ask("check");
  heir(Note::Kind::kHeirReady, "2.0.0 5 1 1");
  EXPECT_THAT(hands_.take(), ElementsAre("start heir", "kill heir"));
  heir_ends();
  EXPECT_THAT(hands_.take(), ElementsAre("engine: resume checked 2.0.0 5 1 1"));
}

TEST_F(SuccessionTest, TellsTheEngineOnlyWhenTheHeirIsNoMore) {
  come_to_ready();
  engine(Note::Kind::kCannot, "no memory");
  EXPECT_THAT(hands_.take(), ElementsAre("kill heir"));
  pass(std::chrono::hours(1));
  EXPECT_THAT(hands_.take(), IsEmpty());
  heir_ends();
  EXPECT_THAT(hands_.take(), ElementsAre("engine: resume failed no memory"));
}

TEST_F(SuccessionTest, TellsTheHeirOnlyWhenTheEngineIsNoMore) {
  come_to_taken();
  pass(Succession::kToLetGo);
  EXPECT_THAT(hands_.take(), ElementsAre("kill engine"));
  pass(std::chrono::hours(1));
  EXPECT_THAT(hands_.take(), IsEmpty());
  EXPECT_TRUE(engine_ends());
  EXPECT_THAT(hands_.take(), ElementsAre("heir: go 1.0.0", "succeed", "replace keeper 1"));
}

TEST_F(SuccessionTest, FailsIfTheHeirCannotBeStarted) {
  hands_.cannot_start = true;
  ask();
  EXPECT_THAT(hands_.take(), ElementsAre("start heir", HasSubstr("engine: resume failed cannot")));
  EXPECT_FALSE(succession_.is_busy());
}

TEST_F(SuccessionTest, FailsIfTheHeirEndsByItself) {
  ask();
  heir_ends();
  EXPECT_THAT(hands_.take(), ElementsAre("start heir", AllOf(HasSubstr("engine: resume failed"),
                                                             HasSubstr("killed by signal 9"))));
  pass(Succession::kApart);
  come_to_ready();
  heir_ends();
  EXPECT_THAT(hands_.take(), ElementsAre(HasSubstr("engine: resume failed")));
}

TEST_F(SuccessionTest, FailsIfTheHeirRefuses) {
  come_to_ready();
  heir(Note::Kind::kCannot, "not the lock");
  heir_ends();
  EXPECT_THAT(hands_.take(), ElementsAre("kill heir", "engine: resume failed not the lock"));
}

TEST_F(SuccessionTest, FailsIfTheHeirSaysNoFacts) {
  ask();
  heir(Note::Kind::kHeirReady, "ready");
  EXPECT_THAT(hands_.take(), ElementsAre("start heir", "kill heir"));
}

TEST_F(SuccessionTest, FailsIfItTakesTooLong) {
  ask();
  pass(Succession::kToStart);
  heir_ends();
  EXPECT_THAT(hands_.take(), ElementsAre("start heir", "kill heir",
                                         "engine: resume failed the new engine was not ready "
                                         "after 10 s"));
  pass(Succession::kApart);
  come_to_ready();
  pass(Succession::kToHandOver);
  heir_ends();
  EXPECT_THAT(hands_.take(), ElementsAre("kill heir",
                                         "engine: resume failed the engines were not done after "
                                         "5 s"));
}

TEST_F(SuccessionTest, DoesNotLetGoForAnHeirThatHasEnded) {
  come_to_ready();
  hands_.heir = false;
  heir(Note::Kind::kTaken);
  EXPECT_THAT(hands_.take(), IsEmpty());
  heir_ends();
  EXPECT_THAT(hands_.take(), ElementsAre(HasSubstr("engine: resume failed")));
}

TEST_F(SuccessionTest, EndsBothIfTheEngineDiesBeforeTheHeirHasAll) {
  come_to_ready();
  EXPECT_FALSE(engine_ends());
  EXPECT_THAT(hands_.take(), ElementsAre("kill heir"));
}

constexpr const char* kSegv = "start heir after it was killed by signal 11 (SEGV)";

TEST_F(SuccessionTest, StartsAnotherEngineAfterACrash) {
  EXPECT_TRUE(engine_crashes());
  EXPECT_THAT(hands_.take(), ElementsAre(kSegv));
  heir(Note::Kind::kHeirReady, "2.0.0 5 1 1");
  EXPECT_THAT(hands_.take(), ElementsAre("holder: give"));
  heir(Note::Kind::kTaken);
  EXPECT_THAT(hands_.take(), ElementsAre("heir: go 1.0.0", "succeed"));
  EXPECT_FALSE(succession_.is_busy());
  EXPECT_EQ(succession_.next_step(), kNever);
}

// It ends after it has said that it has all, and the keeper hears of its end first.
TEST_F(SuccessionTest, DoesNotServeWithAnHeirThatHasEnded) {
  EXPECT_TRUE(engine_crashes());
  heir(Note::Kind::kHeirReady, "2.0.0 5 1 1");
  EXPECT_THAT(hands_.take(), ElementsAre(kSegv, "holder: give"));
  hands_.heir = false;
  heir(Note::Kind::kTaken);
  EXPECT_THAT(hands_.take(), IsEmpty());
  heir_ends();
  EXPECT_THAT(hands_.take(), ElementsAre(kSegv));
}

TEST_F(SuccessionTest, AnEngineThatWasToldToStopHasNoSuccessor) {
  EXPECT_FALSE(engine_ends());
  EXPECT_THAT(hands_.take(), IsEmpty());
}

// One that is killed at any step is followed by the next.
TEST_F(SuccessionTest, TriesAgainIfTheNextEngineEnds) {
  EXPECT_TRUE(engine_crashes());
  heir_ends();
  EXPECT_THAT(hands_.take(), ElementsAre(kSegv, kSegv));
  heir(Note::Kind::kHeirReady, "2.0.0 5 1 1");
  heir_ends();
  EXPECT_THAT(hands_.take(), ElementsAre("holder: give", kSegv));
  heir(Note::Kind::kHeirReady, "2.0.0 5 1 1");
  heir(Note::Kind::kCannot, "no memory");
  EXPECT_THAT(hands_.take(), ElementsAre("holder: give", "kill heir"));
  heir_ends();
  EXPECT_THAT(hands_.take(), ElementsAre(kSegv));
  pass(Succession::kToStart);
  EXPECT_THAT(hands_.take(), ElementsAre("kill heir")) << "it does not answer";
  heir_ends();
  heir(Note::Kind::kHeirReady, "2.0.0 5 1 1");
  pass(Succession::kToStart);
  EXPECT_THAT(hands_.take(), ElementsAre(kSegv, "holder: give", "kill heir"));
  heir_ends();
  heir(Note::Kind::kHeirReady, "2.0.0 5 1 1");
  heir(Note::Kind::kTaken);
  EXPECT_THAT(hands_.take(), ElementsAre(kSegv, "holder: give", "heir: go 1.0.0", "succeed"));
}

TEST_F(SuccessionTest, GivesUpIfTooManyEndInARow) {
  for (int i = 0; i < Succession::kMostRecoveries; ++i) {
    EXPECT_TRUE(engine_crashes());
    heir(Note::Kind::kHeirReady, "2.0.0 5 1 1");
    heir(Note::Kind::kTaken);
  }
  EXPECT_FALSE(succession_.is_over());
  pass(Succession::kInARow);
  for (int i = 0; i < Succession::kMostRecoveries; ++i) {
    EXPECT_TRUE(engine_crashes());
    heir_ends();
    if (i == Succession::kMostRecoveries / 2) break;
  }
  for (int i = 0; i < Succession::kMostRecoveries && !succession_.is_over(); ++i) heir_ends();
  EXPECT_TRUE(succession_.is_over());
  hands_.done.clear();
  heir(Note::Kind::kHeirReady, "2.0.0 5 1 1");
  pass(std::chrono::hours(1));
  EXPECT_THAT(hands_.take(), IsEmpty());
}

// The keeper is another program, and one limit is for both.
TEST_F(SuccessionTest, GoesOnCountingInAnotherKeeper) {
  for (int i = 0; i < Succession::kMostRecoveries; ++i) {
    EXPECT_TRUE(engine_crashes());
    heir(Note::Kind::kHeirReady, "2.0.0 5 1 1");
    heir(Note::Kind::kTaken);
  }
  ask();
  heir(Note::Kind::kHeirReady, "3.0.0 5 1 1");
  heir(Note::Kind::kTaken);
  engine_ends();
  const Succession::Saved saved = succession_.saved();
  EXPECT_EQ(saved.version, "3.0.0");
  EXPECT_EQ(saved.earliest, now_ + Succession::kApart);
  Succession next(hands_, "3.0.0");
  next.resume(saved, now_);
  EXPECT_EQ(next.saved(), saved);
  next.on_engine_note({.kind = Note::Kind::kUpgrade, .text = ""}, now_);
  EXPECT_EQ(next.next_step(), saved.earliest);
  EXPECT_TRUE(next.on_engine_ended({.how = "was killed by signal 11 (SEGV)"}, true, now_));
  EXPECT_TRUE(next.is_over());
}

// Its clock may be wrong, or its count.
TEST_F(SuccessionTest, WaitsNoLongerForWhatAKeeperLeavesThanForItsOwn) {
  succession_.resume({.version = "1.0.0",
                      .earliest = now_ + std::chrono::hours(9),
                      .recoveries = 1000,
                      .last_recovery = now_ + std::chrono::hours(9)},
                     now_);
  ask();
  EXPECT_EQ(succession_.next_step(), now_ + Succession::kApart);
  EXPECT_EQ(succession_.saved().recoveries, Succession::kMostRecoveries);
  EXPECT_EQ(succession_.saved().last_recovery, now_);
}

TEST_F(SuccessionTest, HasTheKeeperReplacedByAnUpgradeAlone) {
  ask("check");
  heir(Note::Kind::kHeirReady, "2.0.0 5 1 7");
  heir_ends();
  pass(Succession::kApart);
  ask();
  heir(Note::Kind::kHeirReady, "2.0.0 5 1 7");
  heir(Note::Kind::kCannot, "no memory");
  heir_ends();
  pass(Succession::kApart);
  engine_crashes();
  heir(Note::Kind::kHeirReady, "2.0.0 5 1 7");
  heir(Note::Kind::kTaken);
  EXPECT_THAT(hands_.take(), testing::Not(testing::Contains(HasSubstr("replace keeper"))));
  pass(Succession::kApart);
  ask();
  heir(Note::Kind::kHeirReady, "2.0.0 5 1 8");
  heir(Note::Kind::kTaken);
  engine_ends();
  EXPECT_EQ(hands_.take().back(), "replace keeper 8");
}

TEST_F(SuccessionTest, GivesUpIfNoEngineCanBeStarted) {
  hands_.cannot_start = true;
  EXPECT_TRUE(engine_crashes());
  EXPECT_TRUE(succession_.is_over());
}

// What it held is lost, but the next engine can be started without it.
TEST_F(SuccessionTest, StartsAnewWithoutAHolder) {
  hands_.holder = false;
  engine_crashes();
  heir(Note::Kind::kHeirReady, "2.0.0 5 1 1");
  EXPECT_THAT(hands_.take(), ElementsAre(kSegv, "holder: give", "kill heir"));
}

TEST_F(SuccessionTest, AnEngineThatCrashesDuringAnUpgradeIsFollowedByAnotherHeir) {
  come_to_ready();
  EXPECT_TRUE(engine_crashes());
  EXPECT_THAT(hands_.take(), ElementsAre("kill heir")) << "one at a time";
  heir_ends();
  EXPECT_THAT(hands_.take(), ElementsAre(kSegv));
}

TEST_F(SuccessionTest, AnHeirThatEndsAfterItHasAllIsFollowedByAnother) {
  come_to_taken();
  heir_ends();
  pass(Succession::kToLetGo);
  EXPECT_THAT(hands_.take(), ElementsAre("kill engine"));
  EXPECT_TRUE(engine_ends());
  EXPECT_THAT(hands_.take(), ElementsAre("start heir after it exited with status 0"));
}

TEST_F(SuccessionTest, WaitsBetweenUpgrades) {
  come_to_ready();
  engine(Note::Kind::kCannot, "no");
  heir_ends();
  hands_.done.clear();
  for (int i = 0; i < 100; ++i) ask();
  EXPECT_THAT(hands_.take(), IsEmpty());
  EXPECT_FALSE(succession_.is_busy());
  pass(Succession::kApart - std::chrono::milliseconds(1));
  EXPECT_THAT(hands_.take(), IsEmpty());
  pass(std::chrono::milliseconds(1));
  EXPECT_THAT(hands_.take(), ElementsAre("start heir"));
}

TEST_F(SuccessionTest, GivesUpWhatIsNotCertain) {
  ask();
  succession_.give_up("the daemon is stopping", now_);
  EXPECT_TRUE(succession_.is_busy());
  heir_ends();
  EXPECT_FALSE(succession_.is_busy());
  EXPECT_THAT(hands_.take(), ElementsAre("start heir", "kill heir",
                                         "engine: resume failed the daemon is stopping"));
  ask();
  succession_.give_up("the daemon is stopping", now_);
  EXPECT_THAT(hands_.take(), ElementsAre("engine: resume failed the daemon is stopping"));
  pass(Succession::kApart);
  come_to_taken();
  succession_.give_up("the daemon is stopping", now_);
  EXPECT_THAT(hands_.take(), IsEmpty());
  EXPECT_TRUE(succession_.is_busy());
}

TEST_F(SuccessionTest, TellsAnEngineThatWasHeldLater) {
  come_to_ready();
  hands_.engine_reads = false;
  heir(Note::Kind::kCannot, "no");
  heir_ends();
  pass(Succession::kTellAgain);
  hands_.done.clear();
  hands_.engine_reads = true;
  pass(Succession::kTellAgain);
  EXPECT_THAT(hands_.take(), ElementsAre("engine: resume failed no"));
  EXPECT_EQ(succession_.next_step(), kNever);
}

// What may be said in each step is tested above; all else changes nothing.
TEST_F(SuccessionTest, IgnoresWhatComesInTheWrongStep) {
  const auto say_all_but = [this](const std::vector<Note::Kind>& engines,
                                  const std::vector<Note::Kind>& heirs) {
    for (int kind = static_cast<int>(Note::Kind::kUpgrade);
         kind <= static_cast<int>(Note::Kind::kResume); ++kind) {
      const auto one = static_cast<Note::Kind>(kind);
      if (std::ranges::find(engines, one) == engines.end()) engine(one, "x");
      if (std::ranges::find(heirs, one) == heirs.end()) heir(one, "x");
    }
    EXPECT_THAT(hands_.take(), IsEmpty());
  };
  say_all_but({Note::Kind::kUpgrade}, {});
  ask();
  hands_.done.clear();
  say_all_but({}, {Note::Kind::kHeirReady, Note::Kind::kCannot});
  heir(Note::Kind::kHeirReady, "2.0.0 5 1 1");
  hands_.done.clear();
  say_all_but({Note::Kind::kCannot}, {Note::Kind::kTaken, Note::Kind::kCannot});
  heir(Note::Kind::kTaken);
  hands_.done.clear();
  say_all_but({}, {});
  EXPECT_TRUE(engine_ends());
}

// Whatever both say, and however they end: never do both serve.
TEST_F(SuccessionTest, NeverHasTwoEnginesServe) {
  std::mt19937 random(7);
  int successions = 0;
  for (int round = 0; round < 2000; ++round) {
    FakeHands hands;
    Succession one(hands, "1.0.0");
    Instant now = now_;
    bool engine = true;
    bool heir = false;
    for (int i = 0; i < 60 && (engine || one.is_busy()); ++i) {
      const auto kind = static_cast<Note::Kind>(15 + random() % 8);
      const Note note{.kind = kind, .text = kind == Note::Kind::kHeirReady ? "2.0.0 5 1 1" : ""};
      hands.heir = heir;
      switch (random() % 7) {
        case 0: one.on_engine_note({.kind = Note::Kind::kUpgrade, .text = {}}, now); break;
        case 1: one.on_engine_note(note, now); break;
        case 2:
        case 3:
          if (heir) one.on_heir_note(note, now);
          break;
        case 4: one.step(now += std::chrono::milliseconds(random() % 4000)); break;
        case 5:
          if (heir) {
            heir = false;
            one.on_heir_ended("ended", now);
          }
          break;
        default:
          if (!engine || random() % 4 != 0) break;
          engine = false;
          if (!one.on_engine_ended({.how = "ended"}, random() % 2 == 0, now)) i = 60;
          break;
      }
      for (const std::string& done : hands.take()) {
        if (done.starts_with("start heir")) {
          EXPECT_FALSE(heir);
          heir = true;
        }
        if (done.starts_with("heir: go")) {
          EXPECT_FALSE(engine);
        }
        if (done.starts_with("engine: resume")) {
          EXPECT_FALSE(heir);
          EXPECT_TRUE(engine);
        }
        if (done == "succeed") {
          EXPECT_FALSE(engine);
          EXPECT_TRUE(heir);
          engine = std::exchange(heir, false);
          ++successions;
        }
      }
    }
  }
  EXPECT_GT(successions, 100);
}

}  // namespace
}  // namespace paravane::keeper
