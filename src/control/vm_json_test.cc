#include "control/vm_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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
  spec.hw_version = 15;
  spec.version = 18;
  spec.adapters = {
      {.number = 1, .mac = MacAddress{2, 0x50, 0x56, 1, 2, 3}, .protocol = Protocol::kRoceV2},
      {.number = 3, .mac = MacAddress{2, 0x50, 0x56, 1, 2, 4}, .protocol = Protocol::kRoceV1}};
  spec.doorbells = Doorbells::kTrapped;
  spec.limits.queue_pairs = 64;
  spec.limits.contexts = 128;
  spec.machine = {.memory_mib = 4096, .disks = {{.file = "/srv/db1"}}};
  return spec;
}

TEST(VmJson, NeedsNothingButAName) {
  const auto spec = read(R"({"name":"db1"})");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->name, "db1");
  EXPECT_EQ(spec->adapters, std::vector<AdapterSpec>{{.protocol = Protocol::kRoceV2}});
  EXPECT_EQ(spec->hw_version, kMaxHardwareVersion);
  EXPECT_EQ(spec->version, kMaxDeviceVersion);
  EXPECT_EQ(spec->doorbells, Doorbells::kMapped);
  EXPECT_EQ(spec->limits, VmLimits{});
}

TEST(VmJson, HardwareVersionDecidesWhatIsNotNamed) {
  const auto first = read(R"({"name":"db1","hw_version":13})");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->version, 17u);
  EXPECT_EQ(first->adapters[0].protocol, Protocol::kRoceV1);
  const auto later = read(R"({"name":"db1","hw_version":14,"protocol":"v1"})");
  ASSERT_TRUE(later);
  EXPECT_EQ(later->version, 20u);
  EXPECT_EQ(later->adapters[0].protocol, Protocol::kRoceV1);
}

// So do those who knew the device version only, and what they stored.
TEST(VmJson, DeviceVersion17AloneIsHardwareVersion13) {
  const auto spec = read(R"({"name":"db1","mac":"02:50:56:01:02:03","version":17})");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->hw_version, 13u);
  EXPECT_EQ(spec->adapters[0].protocol, Protocol::kRoceV1);
  EXPECT_EQ(spec->adapters[0].mac, (MacAddress{2, 0x50, 0x56, 1, 2, 3}));
}

TEST(VmJson, KeepsASpecWhole) {
  const auto spec = read(print_json(to_json(full_spec())));
  ASSERT_TRUE(spec);
  EXPECT_EQ(*spec, full_spec());
}

TEST(VmJson, KeepsAStatusWhole) {
  const VmStatus status{.spec = full_spec(),
                        .adapters = {{.socket = "/run/paravane/vm/db1.sock",
                                      .state = VmState::kActive,
                                      .pid = 4711,
                                      .problem = "none \"really\""},
                                     {.socket = "/run/paravane/vm/db1.3.sock"}}};
  const auto read_back = vm_status_from_json(to_json(status));
  ASSERT_TRUE(read_back);
  EXPECT_EQ(*read_back, status);
}

// For clients that know one adapter.
TEST(VmJson, StatusHoldsTheFirstAdapterInItself) {
  const nlohmann::json value = to_json(
      VmStatus{.spec = full_spec(), .adapters = {{.socket = "/first", .pid = 7}, {.pid = 8}}});
  EXPECT_EQ(value.at("mac"), "02:50:56:01:02:03");
  EXPECT_EQ(value.at("protocol"), "v2");
  EXPECT_EQ(value.at("socket"), "/first");
  EXPECT_EQ(value.at("pid"), 7);
  EXPECT_EQ(value.at("adapters").at(1).at("number"), 3);
  EXPECT_EQ(value.at("adapters").at(1).at("pid"), 8);
}

TEST(VmJson, KeepsAChangeWhole) {
  const VmChange change{.hw_version = 14,
                        .protocol = Protocol::kRoceV1,
                        .adapter = 2,
                        .limits = {{.field = &kLimitFields[0], .value = 64},
                                   {.field = &kLimitFields[2], .value = {}}},
                        .revision = "00c0ffee00c0ffee"};
  const auto read_back = vm_change_from_json(to_json(change));
  ASSERT_TRUE(read_back) << read_back.error().message;
  EXPECT_EQ(*read_back, change);
}

TEST(VmJson, RefusesChangesThatSayTooLittleOrTooMuch) {
  for (const char* text :
       {"[]", "{}", R"({"limits":{}})", R"({"limits":[]})", R"({"limits":{"qps":1}})",
        R"({"limits":{"qps":null}})", R"({"limits":{"gids":"8"}})", R"({"limits":{"gids":257}})",
        R"({"hw_version":null})", R"({"hw_version":"14"})", R"({"hw_version":12})",
        R"({"protocol":"v3"})", R"({"adapter":1})", R"({"protocol":"v1","adapter":-1})",
        R"({"hw_version":13,"protocol":"v2"})", R"({"hw_version":14,"version":18})",
        R"({"hw_version":14,"mac":"02:50:56:01:02:03"})"}) {
    const auto value = parse_json(text);
    ASSERT_TRUE(value) << text;
    EXPECT_FALSE(vm_change_from_json(*value)) << text;
  }
}

TEST(VmJson, KeepsARequestForAnAdapterWhole) {
  const AdapterRequest request{.mac = MacAddress{2, 3}, .protocol = Protocol::kRoceV1};
  EXPECT_EQ(*adapter_request_from_json(to_json(request)), request);
  EXPECT_EQ(*adapter_request_from_json(nlohmann::json::object()), AdapterRequest{});
  for (const char* text : {"[]", R"({"mac":"x"})", R"({"mac":"01:00:00:00:00:00"})",
                           R"({"protocol":1})", R"({"number":2})"}) {
    EXPECT_FALSE(adapter_request_from_json(*parse_json(text))) << text;
  }
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
                    Refusal{R"({"name":"a","hw_version":12})", "13 to 21"},
                    Refusal{R"({"name":"a","hw_version":22})", "13 to 21"},
                    Refusal{R"({"name":"a","hw_version":13,"version":20})", "it has 17"},
                    Refusal{R"({"name":"a","hw_version":14,"version":17})", "it has 18 to 20"},
                    Refusal{R"({"name":"a","version":17,"protocol":"v2"})", "RoCE v1 only"},
                    Refusal{R"({"name":"a","hw_version":13,"protocol":"v2"})", "RoCE v1 only"},
                    Refusal{R"({"name":"a","protocol":"v3"})", "\"v1\" or \"v2\""},
                    Refusal{R"({"name":"a","adapters":{}})", "must be an array"},
                    Refusal{R"({"name":"a","adapters":[]})", "1 to 8 adapters"},
                    Refusal{R"({"name":"a","adapters":[1]})", "must be a JSON object"},
                    Refusal{R"({"name":"a","adapters":[{}]})", "\"number\" is missing"},
                    Refusal{R"({"name":"a","adapters":[{"number":2}]})", "first with number 1"},
                    Refusal{R"({"name":"a","adapters":[{"number":1,"x":1}]})", "unknown key"},
                    Refusal{R"({"name":"a","protocol":"v1","adapters":[{"number":1}]})",
                            "unknown key \"protocol\""},
                    Refusal{R"({"name":"a","doorbells":"polled"})", "mapped"},
                    Refusal{R"({"name":"a","limits":[]})", "must be an object"},
                    Refusal{R"({"name":"a","limits":{"qps":1}})", "unknown key \"qps\""},
                    Refusal{R"({"name":"a","limits":{"gids":257}})", "limit gids"},
                    Refusal{R"({"name":"a","size":1})", "unknown key \"size\""}));

TEST(VmJson, SurvivesDeepNesting) {
  EXPECT_FALSE(read(std::string(30'000, '[')));
  EXPECT_FALSE(read(std::string(30'000, '[') + std::string(30'000, ']')));
}

// What was parsed may be copied and printed, which goes deeper with each level.
TEST(VmJson, HasABoundOfLevels) {
  const auto nested = [](int levels) {
    return std::string(static_cast<std::size_t>(levels), '[') +
           std::string(static_cast<std::size_t>(levels), ']');
  };
  EXPECT_TRUE(parse_json(nested(kMaxJsonDepth)));
  for (const int levels : {kMaxJsonDepth + 1, kMaxJsonDepth + 2, 30'000}) {
    const auto refused = parse_json(nested(levels));
    ASSERT_FALSE(refused) << levels;
    EXPECT_EQ(refused.error().message, "this JSON has too many levels");
  }
  std::string objects;
  for (int i = 0; i <= kMaxJsonDepth; ++i) objects += "{\"a\":";
  EXPECT_FALSE(parse_json(objects + "1" + std::string(kMaxJsonDepth + 1, '}')));
}

TEST(VmJson, PrintsBytesThatAreNotText) {
  const VmStatus status{.spec = {}, .adapters = {{.problem = "\xff\xfe"}}};
  EXPECT_THAT(print_json(to_json(status)), HasSubstr("problem"));
}

TEST(VmJson, RevisionIsOfEveryPropertyAndOfNothingElse) {
  const VmSpec spec = full_spec();
  EXPECT_EQ(revision_of(spec), revision_of(full_spec()));
  EXPECT_EQ(revision_of(spec).size(), 16u);
  for (const auto& change : std::initializer_list<void (*)(VmSpec&)>{
           [](VmSpec& vm) { --vm.hw_version; }, [](VmSpec& vm) { vm.adapters.pop_back(); },
           [](VmSpec& vm) { vm.limits.gids = 2; }, [](VmSpec& vm) { ++vm.machine.cpus; },
           [](VmSpec& vm) { vm.adapters.back().port_group = "other"; }}) {
    VmSpec other = spec;
    change(other);
    EXPECT_NE(revision_of(other), revision_of(spec)) << to_json(other);
  }
}

TEST(VmJson, TakesAnAnswerOfANewerDaemon) {
  nlohmann::json value = to_json(VmStatus{.spec = full_spec(), .adapters = {{}, {}}});
  value["colour"] = "blue";
  value["adapters"][1]["colour"] = "blue";
  value["limits"]["colours"] = 7;
  value["machine"]["colour"] = "blue";
  EXPECT_TRUE(vm_status_from_json(value));
  value["adapters"][1]["state"] = "dreaming";
  EXPECT_THAT(vm_status_from_json(value).error().message, HasSubstr("dreaming"));
}

}  // namespace
}  // namespace paravane::control
