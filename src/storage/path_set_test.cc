#include "storage/path_set.h"

#include <gtest/gtest.h>

#include <utility>

namespace paravane::storage {
namespace {

class SwitchedPath final : public TaskPath {
 public:
  void execute(const Task& /*task*/, TaskDone /*done*/) override {}
  void reset_unit(scsi::Lun /*lun*/, TaskDone /*done*/) override {}
  bool is_up() const override { return up; }
  bool up = true;
};

UnitPath path_at(std::uint32_t target, TaskPath* tasks) {
  return {.name = "T" + std::to_string(target),
          .place = {.vmhba = 32, .target = target, .lun = 0},
          .tasks = tasks};
}
UnitPath::Place place_of(std::uint32_t target) {
  return {.vmhba = 32, .target = target, .lun = 0};
}

TEST(PathSet, HasNoPathAtFirst) {
  PathSet paths;
  EXPECT_EQ(paths.best(), nullptr);
  EXPECT_EQ(paths.working(), nullptr);
  EXPECT_EQ(paths.choose(), nullptr);
  EXPECT_FALSE(paths.preferred());
  EXPECT_FALSE(paths.lose(place_of(0), "why"));
  EXPECT_FALSE(paths.remove(place_of(0)));
}

TEST(PathSet, PrefersTheFirstThatWasKnownAndKeepsTheOrderOfPlaces) {
  SwitchedPath a, b, c;
  PathSet paths;
  paths.add(path_at(2, &c));
  paths.add(path_at(0, &a));
  paths.add(path_at(1, &b));
  ASSERT_EQ(paths.all().size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(paths.all()[i].place.target, i);
  EXPECT_EQ(paths.preferred(), place_of(2));
  EXPECT_EQ(paths.choose()->name, "T2");
  EXPECT_EQ(paths.working()->name, "T2");
}

TEST(PathSet, TakesTheFirstOneThatWorksAndStaysUntilThePreferredIsBack) {
  SwitchedPath a, b, c;
  PathSet paths;
  paths.add(path_at(2, &c));
  paths.add(path_at(0, &a));
  paths.add(path_at(1, &b));
  paths.choose();
  c.up = false;
  EXPECT_EQ(paths.working(), nullptr);
  EXPECT_EQ(paths.best()->name, "T0");
  EXPECT_EQ(paths.working(), nullptr) << "nothing has chosen";
  EXPECT_EQ(paths.choose()->name, "T0");
  a.up = false;
  EXPECT_EQ(paths.choose()->name, "T1");
  a.up = true;
  EXPECT_EQ(paths.best()->name, "T1") << "an earlier place is no reason to change";
  c.up = true;
  EXPECT_EQ(paths.best()->name, "T2");
  EXPECT_EQ(paths.working()->name, "T1") << "until choose()";
  EXPECT_EQ(paths.choose()->name, "T2");
}

TEST(PathSet, ALostPathIsDeadUntilItIsAddedAgain) {
  SwitchedPath a;
  PathSet paths;
  paths.add(path_at(0, &a));
  paths.choose();
  EXPECT_TRUE(paths.lose(place_of(0), "the port is down"));
  EXPECT_FALSE(paths.lose(place_of(0), "again"));
  EXPECT_EQ(paths.find(place_of(0))->problem, "the port is down");
  EXPECT_EQ(paths.find(place_of(0))->tasks, nullptr);
  EXPECT_EQ(paths.choose(), nullptr);
  paths.add(path_at(0, &a));
  EXPECT_EQ(paths.all().size(), 1u);
  EXPECT_EQ(paths.find(place_of(0))->problem, "");
  EXPECT_EQ(paths.choose()->name, "T0");
}

TEST(PathSet, ARemovedPathIsForgottenAndAnotherIsPreferred) {
  SwitchedPath a, b;
  PathSet paths;
  paths.add(path_at(1, &b));
  paths.add(path_at(0, &a));
  paths.choose();
  EXPECT_TRUE(paths.remove(place_of(1)));
  EXPECT_EQ(paths.find(place_of(1)), nullptr);
  EXPECT_EQ(paths.working(), nullptr);
  EXPECT_EQ(paths.preferred(), place_of(0));
  EXPECT_EQ(paths.choose()->name, "T0");
  EXPECT_TRUE(paths.remove(place_of(0)));
  EXPECT_FALSE(paths.preferred());
  EXPECT_EQ(paths.choose(), nullptr);
}

TEST(PathSet, PlacesAreInTheOrderOfVmhbaTargetAndUnit) {
  SwitchedPath a;
  PathSet paths;
  for (const UnitPath::Place place : {UnitPath::Place{33, 0, 0}, UnitPath::Place{32, 1, 0},
                                      UnitPath::Place{32, 0, 5}, UnitPath::Place{32, 0, 1}}) {
    paths.add({.place = place, .tasks = &a});
  }
  EXPECT_EQ(paths.all()[0].place, (UnitPath::Place{32, 0, 1}));
  EXPECT_EQ(paths.all()[1].place, (UnitPath::Place{32, 0, 5}));
  EXPECT_EQ(paths.all()[2].place, (UnitPath::Place{32, 1, 0}));
  EXPECT_EQ(paths.all()[3].place, (UnitPath::Place{33, 0, 0}));
}

}  // namespace
}  // namespace paravane::storage
