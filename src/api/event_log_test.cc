#include "api/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace paravane::api {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

model::Event of_vm(const std::string& vm) {
  return {.type = "vm.attached", .fields = {{"vm", vm}}, .text = "attached"};
}

std::vector<std::uint64_t> numbers(const EventPage& page) {
  std::vector<std::uint64_t> result;
  for (const model::Event& event : page.events) result.push_back(event.number);
  return result;
}

TEST(EventLog, NumbersEventsFromOne) {
  EventLog log("boot", {}, [] { return std::chrono::system_clock::time_point(1234ms); });
  log.add(of_vm("a"));
  log.add(of_vm("b"));
  const EventPage page = log.read({});
  EXPECT_THAT(numbers(page), ElementsAre(1, 2));
  EXPECT_EQ(page.boot, "boot");
  EXPECT_EQ(page.next_after, 2u);
  EXPECT_EQ(model::format_time(page.events[0].time), "1970-01-01T00:00:01.234Z");
}

TEST(EventLog, SaysHowManyWereLost) {
  EventLog log("boot", {.events = 3});
  for (int i = 0; i < 10; ++i) log.add(of_vm("a"));
  const EventPage page = log.read({.after = 2});
  EXPECT_EQ(page.lost, 5u);  // 3 to 7
  EXPECT_THAT(numbers(page), ElementsAre(8, 9, 10));
  EXPECT_EQ(log.read({.after = 8}).lost, 0u);
  EXPECT_EQ(log.read({.after = 7}).lost, 0u);
  EXPECT_EQ(log.totals().dropped, 7u);
}

TEST(EventLog, IsBoundedInBytesToo) {
  EventLog log("boot", {.bytes = 5000});
  for (int i = 0; i < 100; ++i) {
    log.add({.type = "t",
             .fields = {{"f", std::string(10'000, 'x')}},
             .text = std::string(10'000, 'y')});
  }
  const EventPage page = log.read({});
  EXPECT_LT(page.events.size(), 8u);
  EXPECT_FALSE(page.events.empty());
  EXPECT_LE(page.events[0].text.size(), 500u);
  EXPECT_LE(page.events[0].fields.at("f").size(), 255u);
}

TEST(EventLog, GivesPages) {
  EventLog log("boot");
  for (int i = 0; i < 5; ++i) log.add(of_vm("a"));
  EventPage page = log.read({.most = 2});
  EXPECT_THAT(numbers(page), ElementsAre(1, 2));
  page = log.read({.after = page.next_after, .most = 2});
  EXPECT_THAT(numbers(page), ElementsAre(3, 4));
  page = log.read({.after = page.next_after, .most = 2});
  EXPECT_THAT(numbers(page), ElementsAre(5));
  EXPECT_THAT(numbers(log.read({.after = page.next_after})), IsEmpty());
}

TEST(EventLog, OfOneVmOthersArePassedBy) {
  EventLog log("boot");
  for (const char* vm : {"a", "b", "a", "b"}) log.add(of_vm(vm));
  const EventPage page = log.read({.vm = "a"});
  EXPECT_THAT(numbers(page), ElementsAre(1, 3));
  EXPECT_EQ(page.next_after, 4u);
}

TEST(EventLog, ANumberOfAnotherBootMeansFromTheBeginning) {
  EventLog log("new");
  log.add(of_vm("a"));
  log.add(of_vm("b"));
  EXPECT_THAT(numbers(log.read({.after = 1, .boot = "old"})), ElementsAre(1, 2));
  EXPECT_THAT(numbers(log.read({.after = 1, .boot = "new"})), ElementsAre(2));
  EXPECT_THAT(numbers(log.read({.after = 99})), ElementsAre(1, 2));
}

TEST(EventLog, AWaiterGetsTheFirstThatIsForIt) {
  EventLog log("boot");
  std::atomic<bool> waits{false};
  EventPage page;
  std::thread waiter([&] {
    waits = true;
    page = log.wait({.vm = "b"}, 60s);
  });
  while (!waits) std::this_thread::yield();
  log.add(of_vm("a"));
  log.add(of_vm("b"));
  waiter.join();
  EXPECT_THAT(numbers(page), ElementsAre(2));
}

TEST(EventLog, WhoWaitsInVainGetsNothing) {
  EventLog log("boot");
  log.add(of_vm("a"));
  const EventPage page = log.wait({.vm = "b"}, 1ms);
  EXPECT_THAT(numbers(page), IsEmpty());
  EXPECT_EQ(page.next_after, 1u);
}

TEST(EventLog, NoMoreWaitThanMay) {
  EventLog log("boot", {.waiters = 0});
  EXPECT_THAT(numbers(log.wait({}, 24h)), IsEmpty());  // at once
}

TEST(EventLog, NobodyWaitsForOneThatIsClosed) {
  EventLog log("boot");
  const auto start = std::chrono::steady_clock::now();
  std::thread waiter([&] { log.wait({}, 600s); });
  log.close();
  waiter.join();
  log.wait({}, 600s);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 300s);
}

TEST(EventLog, CountsBySeverity) {
  EventLog log("boot");
  log.add({.type = "t", .severity = model::Severity::kError});
  log.add({.type = "t"});
  EXPECT_THAT(log.totals().by_severity, ElementsAre(1, 0, 1));
  EXPECT_EQ(log.totals().kept, 2u);
}

}  // namespace
}  // namespace paravane::api
