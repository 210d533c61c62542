#include "api/events_api.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/event_json.h"
#include "json/json_text.h"

namespace paravane::api {
namespace {

using Query = std::multimap<std::string, std::string>;

class EventsApi : public testing::Test {
 protected:
  EventsApi() {
    events_.add({.type = "vm.added", .fields = {{"vm", "db1"}}, .text = "vm db1 was added"});
    events_.add({.type = "daemon.stopping", .severity = model::Severity::kWarning});
  }
  ApiResponse get(const Query& query) {
    return handle_events_request(events_, {.method = "GET", .path = kEventsPath, .query = query});
  }

  EventLog events_{"boot", {.waiters = 0}, [] {
                     return std::chrono::system_clock::time_point(std::chrono::hours(24));
                   }};
};

TEST_F(EventsApi, GivesEventsAsDocumented) {
  const ApiResponse response = get({{"vm", "db1"}});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body,
            R"({"boot":"boot","events":[{"fields":{"vm":"db1"},"number":1,"severity":"info",)"
            R"("text":"vm db1 was added","time":"1970-01-02T00:00:00.000Z","type":"vm.added"}],)"
            R"("lost":0,"next_after":2})"
            "\n");
}

TEST_F(EventsApi, WhatIsGivenCanBeReadBack) {
  const auto body = parse_json(get({{"after", "0"}, {"boot", "boot"}, {"wait_s", "30"}}).body);
  ASSERT_TRUE(body);
  const auto page = event_page_from_json(*body);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(*page, events_.read({}));
}

TEST_F(EventsApi, RefusesWhatIsNotDocumented) {
  for (const Query& query :
       {Query{{"after", "-1"}}, Query{{"after", "1x"}}, Query{{"after", ""}}, Query{{"limit", "0"}},
        Query{{"limit", "501"}}, Query{{"wait_s", "31"}}, Query{{"vm", "../x"}},
        Query{{"boot", std::string(65, 'a')}}, Query{{"since", "1"}},
        Query{{"vm", "a"}, {"vm", "b"}}}) {
    EXPECT_EQ(get(query).status, 400) << query.begin()->first;
  }
  EXPECT_EQ(handle_events_request(events_, {.method = "POST", .path = kEventsPath}).status, 405);
}

TEST_F(EventsApi, ReadsOnlyWhatAnAnswerCanBe) {
  const auto read = [](const char* text) { return event_page_from_json(*parse_json(text)); };
  const std::string event =
      R"({"boot":"b","next_after":1,"lost":0,"events":[{"number":1,"type":"t","text":"",)";
  EXPECT_TRUE(read((event + R"("severity":"info","time":"2026-01-31T01:02:03.004Z"}]})").c_str()));
  EXPECT_FALSE(read((event + R"("severity":"bad","time":"2026-01-31T01:02:03.004Z"}]})").c_str()));
  EXPECT_FALSE(read((event + R"("severity":"info","time":"2026-02-31T01:02:03.004Z"}]})").c_str()));
  EXPECT_FALSE(read((event + R"("severity":"info","time":"yesterday"}]})").c_str()));
  EXPECT_FALSE(read(R"({"boot":"b"})"));
}

}  // namespace
}  // namespace paravane::api
