#include "vmm/qmp_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paravane::vmm {
namespace {

using Kind = QmpMessage::Kind;

Result<std::optional<QmpMessage>> read(std::string_view bytes) {
  QmpReader reader;
  if (Status fed = reader.feed(bytes); !fed) return std::unexpected(fed.error());
  return reader.next();
}

TEST(QmpReader, TellsMessagesApart) {
  EXPECT_EQ((*read("{\"QMP\":{}}\r\n"))->kind, Kind::kGreeting);
  EXPECT_EQ((*read("{\"return\":{\"a\":1}}\n"))->value["a"], 1);
  const auto error = read("{\"error\":{\"class\":\"GenericError\",\"desc\":\"no\\u001b[2J\"}}\n");
  EXPECT_EQ((*error)->kind, Kind::kError);
  EXPECT_EQ((*error)->text, "no?[2J");
  EXPECT_EQ((*read("{\"event\":\"STOP\"}\n"))->text, "STOP");
  EXPECT_EQ((*read("{\"error\":{\"desc\":7}}\n"))->text, "");
}

TEST(QmpReader, WaitsUntilAMessageIsWhole) {
  QmpReader reader;
  ASSERT_TRUE(reader.feed("{\"return\""));
  EXPECT_FALSE(reader.next()->has_value());
  ASSERT_TRUE(reader.feed(":{}}\n{\"event\":\"A\"}\n"));
  EXPECT_EQ((*reader.next())->kind, Kind::kReturn);
  EXPECT_EQ((*reader.next())->kind, Kind::kEvent);
  EXPECT_FALSE(reader.next()->has_value());
}

TEST(QmpReader, RefusesWhatIsNotQmp) {
  for (const char* line :
       {"\n", "x\n", "[]\n", "7\n", "{}\n", "{\"error\":1}\n", "{\"a\":1,\"a\":2}\n"}) {
    EXPECT_FALSE(read(line)) << line;
  }
}

TEST(QmpReader, KeepsNoMoreThanALine) {
  QmpReader reader;
  ASSERT_TRUE(reader.feed(std::string(QmpReader::kMaxLine, '[')));
  EXPECT_FALSE(reader.next()->has_value());
  ASSERT_TRUE(reader.feed("["));
  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.feed(std::string(QmpReader::kMaxLine, '[')));
}

TEST(QmpReader, SurvivesDeepNesting) {
  const std::string deep(QmpReader::kMaxLine / 2, '[');
  EXPECT_FALSE(read("{\"return\":" + deep + std::string(deep.size() - 20, ']') + "\n"));
}

TEST(Printable, IsShortAndMovesNoCursor) {
  EXPECT_EQ(printable("a\x1b\x7f\xc3\nb"), "a????b");
  EXPECT_EQ(printable(std::string(1000, 'a'), 10), "aaaaaaaaaa");
}

}  // namespace
}  // namespace paravane::vmm
