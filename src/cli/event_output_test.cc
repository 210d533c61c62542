#include "cli/event_output.h"

#include <gtest/gtest.h>

namespace paravane::cli {
namespace {

using model::Event;
using text::TableFormat;

const std::vector<model::Event> kEvents = {{.type = "vm.attached",
                                            .fields = {{"adapter", "1"}, {"vm", "db1"}},
                                            .text = "a VMM, attached",
                                            .number = 7}};

TEST(EventOutput, AllOfThemAreATable) {
  EXPECT_EQ(
      print_events(kEvents, text::TableFormat::kTable),
      "Number  Time                      Severity  Type         Fields            Text\n"
      "------  ------------------------  --------  -----------  ----------------  ---------------\n"
      "7       1970-01-01T00:00:00.000Z  info      vm.attached  adapter=1 vm=db1  a VMM, "
      "attached\n");
}

TEST(EventOutput, WhileTheyComeALineIsAnEvent) {
  EXPECT_EQ(print_event_lines(kEvents, text::TableFormat::kTable),
            "1970-01-01T00:00:00.000Z info    vm.attached            a VMM, attached\n");
  EXPECT_EQ(print_event_lines(kEvents, text::TableFormat::kCsv),
            "7,1970-01-01T00:00:00.000Z,info,vm.attached,adapter=1 vm=db1,\"a VMM, attached\"\n");
  EXPECT_EQ(print_event_lines(kEvents, text::TableFormat::kJson),
            R"({"fields":{"adapter":"1","vm":"db1"},"number":7,"severity":"info",)"
            R"("text":"a VMM, attached","time":"1970-01-01T00:00:00.000Z","type":"vm.attached"})"
            "\n");
  EXPECT_EQ(print_event_lines({}, text::TableFormat::kCsv), "");
}

TEST(EventOutput, TextCannotMoveTheCursor) {
  EXPECT_EQ(print_event_lines({{.type = "t", .text = "a\033[2J\nb"}}, text::TableFormat::kTable),
            "1970-01-01T00:00:00.000Z info    t                      a?[2J?b\n");
}

}  // namespace
}  // namespace paravane::cli
