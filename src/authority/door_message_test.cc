#include "authority/door_message.h"

#include <gtest/gtest.h>

namespace paravane::authority {
namespace {

TEST(DoorMessage, RequestsComeAcross) {
  using Kind = DoorRequest::Kind;
  const auto join = parse_request(
      print_request({.kind = Kind::kJoin, .token_id = "t", .secret = "s", .request = "r"}));
  ASSERT_TRUE(join);
  EXPECT_EQ(join->token_id, "t");
  EXPECT_EQ(join->secret, "s");
  EXPECT_EQ(join->request, "r");
  const auto leave = parse_request(
      print_request({.kind = Kind::kLeave, .token_id = {}, .secret = {}, .request = {}}));
  ASSERT_TRUE(leave);
  EXPECT_EQ(leave->kind, Kind::kLeave);
  const auto authority = parse_request(
      print_request({.kind = Kind::kAuthority, .token_id = {}, .secret = {}, .request = {}}));
  ASSERT_TRUE(authority);
  EXPECT_EQ(authority->kind, Kind::kAuthority);
  const auto succeeded = parse_request(print_request({.kind = Kind::kSucceeded,
                                                      .token_id = {},
                                                      .secret = {},
                                                      .request = {},
                                                      .succession = "h2 has it"}));
  ASSERT_TRUE(succeeded);
  EXPECT_EQ(succeeded->succession, "h2 has it");
  const auto compare = parse_request(print_request({.kind = Kind::kCompare,
                                                    .token_id = "t",
                                                    .secret = "s",
                                                    .request = {},
                                                    .documents = {{"vds/lan", "{}"}}}));
  ASSERT_TRUE(compare);
  EXPECT_EQ(compare->kind, Kind::kCompare);
  EXPECT_EQ(compare->token_id, "t");
  EXPECT_EQ(compare->secret, "s");
  EXPECT_EQ(compare->documents.at("vds/lan"), "{}");
}

TEST(DoorMessage, OddRequestsAreRefused) {
  for (const std::string& line :
       {std::string(), std::string("x"), std::string("[]"), std::string("{}"),
        std::string(R"({"version":2,"ask":"leave"})"), std::string(R"({"version":1,"ask":"eat"})"),
        std::string(R"({"version":1,"ask":"leave","more":1})"),
        std::string(R"({"version":1,"ask":"join","token":"t","secret":"s"})"),
        std::string(R"({"version":1,"ask":"renew","request":7})"),
        std::string(R"({"version":1,"ask":"succeeded"})"),
        std::string(R"({"version":1,"ask":"compare","token":"t","secret":"s"})"),
        std::string(R"({"version":1,"ask":"compare","token":"t","secret":"s","documents":[]})"),
        std::string(
            R"({"version":1,"ask":"compare","token":"t","secret":"s","documents":{"a":1}})"),
        std::string(R"({"version":1,"ask":"compare","documents":{}})"),
        std::string(R"({"version":1,"version":1,"ask":"leave"})"),
        std::string(R"({"version":1,"ask":"leave"})") + std::string(kMaxDoorLine, ' ')}) {
    EXPECT_FALSE(parse_request(line)) << line.substr(0, 80);
  }
}

TEST(DoorMessage, AnswersComeAcross) {
  const DoorAnswer answer{.problem = {},
                          .host = "h2",
                          .certificate = "c",
                          .authority = "a",
                          .etcd = {"https://192.0.2.1:2379"},
                          .etcd_authority = {},
                          .etcd_user = "u",
                          .etcd_password = "p",
                          .succession = "s",
                          .sees = "h1",
                          .clock_s = 1'795'600'000,
                          .generation = kMaxDoorGeneration,
                          .other_switches = {"lan"},
                          .other_port_groups = {"db", "web"}};
  const auto seen = parse_answer(print_answer(answer));
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->host, "h2");
  EXPECT_EQ(seen->etcd, answer.etcd);
  EXPECT_EQ(seen->etcd_password, "p");
  EXPECT_EQ(seen->succession, "s");
  EXPECT_EQ(seen->sees, "h1");
  EXPECT_EQ(seen->clock_s, 1'795'600'000);
  EXPECT_EQ(seen->generation, kMaxDoorGeneration);
  EXPECT_EQ(seen->other_switches, answer.other_switches);
  EXPECT_EQ(seen->other_port_groups, answer.other_port_groups);
  DoorAnswer refusal;
  refusal.problem = "no";
  EXPECT_EQ(parse_answer(print_answer(refusal))->problem, "no");
  EXPECT_EQ(parse_answer(print_answer(refusal))->refusal, DoorRefusal::kOther);
  refusal.refusal = DoorRefusal::kRemoved;
  EXPECT_EQ(parse_answer(print_answer(refusal))->refusal, DoorRefusal::kRemoved);
  EXPECT_EQ(parse_answer(print_answer(refusal))->problem, "no");
  refusal.refusal = DoorRefusal::kBusy;
  EXPECT_EQ(parse_answer(print_answer(refusal))->refusal, DoorRefusal::kBusy);
  EXPECT_EQ(parse_answer(print_answer(refusal))->problem, "no; try again")
      << "releases before 0.2.0 read the reason at the end of the text";
  EXPECT_EQ(parse_answer(R"({"problem":"no","reason":"of a later release"})")->refusal,
            DoorRefusal::kOther);
  for (const char* line :
       {"", "{}", "[]", R"({"host":"h","certificate":"c"})",
        R"({"host":"h","certificate":"c","authority":"a","etcd":{}})",
        R"({"host":"h","certificate":"c","authority":"a","sees":"no name"})",
        R"({"host":"h","certificate":"c","authority":"a","clock":9000000001})",
        R"({"host":"h","certificate":"c","authority":"a","clock":-1})",
        R"({"host":"h","certificate":"c","authority":"a","generation":"7"})",
        R"({"host":"h","certificate":"c","authority":"a","generation":9007199254740993})",
        R"({"host":"h","certificate":"c","authority":"a","generation":18446744073709551615})",
        R"({"host":"h","certificate":"c","authority":"a","switches":"lan"})",
        R"({"host":"h","certificate":"c","authority":"a","switches":["no name"]})",
        R"({"host":"h","certificate":"c","authority":"a","port_groups":[7]})"}) {
    EXPECT_FALSE(parse_answer(line)) << line;
  }
}

TEST(DoorMessage, AnswersOfOtherReleasesAreRead) {
  const auto older =
      parse_answer(R"({"authority":"","certificate":"","host":"h3","succession":"s"})");
  ASSERT_TRUE(older);
  EXPECT_EQ(older->succession, "s");
  EXPECT_EQ(older->sees, "");
  EXPECT_FALSE(older->clock_s);
  EXPECT_FALSE(older->generation);
  const auto newer = parse_answer(R"({"authority":"","certificate":"","host":"h3","sees":"h1",)"
                                  R"("clock":7,"more":{"of":["it"]}})");
  ASSERT_TRUE(newer);
  EXPECT_EQ(newer->sees, "h1");
  EXPECT_EQ(newer->clock_s, 7);
  // Nothing is said that was not known.
  EXPECT_EQ(print_answer({.host = "h3"}),
            "{\"authority\":\"\",\"certificate\":\"\",\"host\":\"h3\"}\n");
}

}  // namespace
}  // namespace paravane::authority
