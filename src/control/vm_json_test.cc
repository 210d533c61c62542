#include "control/vm_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace paravane::control {
namespace {

using testing::HasSubstr;

Result<VmSpec> read(const std::string& text) {
  const auto value = parse_json(text);
  if (!value) return std::unexpected(value.error());
  return vm_spec_from_json(*value);
}

VmSpec full_spec() {
  VmSpec spec;
  spec.name = "db1";
  spec.mac = MacAddress{2, 0x50, 0x56, 1, 2, 3};
  spec.version = 18;
  spec.doorbells = Doorbells::kTrapped;
  spec.limits.queue_pairs = 64;
  spec.limits.contexts = 128;
  return spec;
}

TEST(VmJson, NeedsNothingButAName) {
  const auto spec = read(R"({"name":"db1"})");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->name, "db1");
  EXPECT_FALSE(spec->mac);
  EXPECT_EQ(spec->version, kMaxDeviceVersion);
  EXPECT_EQ(spec->doorbells, Doorbells::kMapped);
  EXPECT_EQ(spec->limits, VmLimits{});
}

TEST(VmJson, KeepsASpecWhole) {
  const auto spec = read(print_json(to_json(full_spec())));
  ASSERT_TRUE(spec);
  EXPECT_EQ(*spec, full_spec());
}

TEST(VmJson, KeepsAStatusWhole) {
  const VmStatus status{.spec = full_spec(),
                        .socket = "/run/paravane/vm/db1.sock",
                        .state = VmState::kActive,
                        .pid = 4711,
                        .problem = "none \"really\""};
  const auto read_back = vm_status_from_json(to_json(status));
  ASSERT_TRUE(read_back);
  EXPECT_EQ(*read_back, status);
}

struct Refusal {
  const char* body;
  const char* reason;
};
class VmJsonRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(VmJsonRefusal, SaysWhatIsWrong) {
  const auto spec = read(GetParam().body);
  ASSERT_FALSE(spec) << GetParam().body;
  EXPECT_EQ(spec.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(spec.error().message, HasSubstr(GetParam().reason));
}

INSTANTIATE_TEST_SUITE_P(
    All, VmJsonRefusal,
    testing::Values(Refusal{"", "not JSON"}, Refusal{"{", "not JSON"},
                    Refusal{"{\"name\":\"a\"} x", "not JSON"}, Refusal{"[]", "JSON object"},
                    Refusal{"null", "JSON object"}, Refusal{"{}", "\"name\" is missing"},
                    Refusal{R"({"name":1})", "must be a string"},
                    Refusal{R"({"name":"A"})", "a name is"},
                    Refusal{R"({"name":"a","name":"b"})", "stands twice"},
                    Refusal{R"({"name":"a","mac":"x"})", "\"mac\" must look like"},
                    Refusal{R"({"name":"a","mac":"01:00:00:00:00:00"})", "group address"},
                    Refusal{R"({"name":"a","version":16})", "17 to 20"},
                    Refusal{R"({"name":"a","version":-1})", "whole number"},
                    Refusal{R"({"name":"a","version":20.0})", "whole number"},
                    Refusal{R"({"name":"a","version":4294967316})", "at most"},
                    Refusal{R"({"name":"a","doorbells":"polled"})", "mapped"},
                    Refusal{R"({"name":"a","limits":[]})", "must be an object"},
                    Refusal{R"({"name":"a","limits":{"qps":1}})", "unknown key \"qps\""},
                    Refusal{R"({"name":"a","limits":{"gids":257}})", "limit gids"},
                    Refusal{R"({"name":"a","size":1})", "unknown key \"size\""}));

TEST(VmJson, SurvivesDeepNesting) {
  EXPECT_FALSE(read(std::string(30'000, '[')));
  EXPECT_FALSE(read(std::string(30'000, '[') + std::string(30'000, ']')));
}

TEST(VmJson, PrintsBytesThatAreNotText) {
  VmStatus status;
  status.problem = "\xff\xfe";
  EXPECT_THAT(print_json(to_json(status)), HasSubstr("problem"));
}

TEST(VmJson, TakesAnAnswerOfANewerDaemon) {
  nlohmann::json value = to_json(VmStatus{.spec = full_spec(), .socket = "/s", .problem = {}});
  value["colour"] = "blue";
  EXPECT_TRUE(vm_status_from_json(value));
}

}  // namespace
}  // namespace paravane::control
