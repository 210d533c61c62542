#include "api/vm_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "json/json_text.h"

namespace paravane::api {
namespace {

using testing::HasSubstr;

Result<model::VmSpec> read(const std::string& text) {
  const auto value = parse_json(text);
  if (!value) return std::unexpected(value.error());
  return vm_spec_from_json(*value);
}

model::VmSpec full_spec() {
  model::VmSpec spec;
  spec.name = "db1";
  spec.hw_version = 15;
  spec.version = 18;
  spec.adapters = {{.number = 1,
                    .mac = model::MacAddress{2, 0x50, 0x56, 1, 2, 3},
                    .protocol = model::Protocol::kRoceV2},
                   {.number = 3,
                    .mac = model::MacAddress{2, 0x50, 0x56, 1, 2, 4},
                    .protocol = model::Protocol::kRoceV1}};
  spec.doorbells = model::Doorbells::kTrapped;
  spec.limits.queue_pairs = 64;
  spec.limits.contexts = 128;
  spec.machine = {.memory_mib = 4096, .disks = {{.file = "/srv/db1"}}};
  return spec;
}

TEST(VmJson, NeedsNothingButAName) {
  const auto spec = read(R"({"name":"db1"})");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->name, "db1");
  EXPECT_EQ(spec->adapters,
            std::vector<model::AdapterSpec>{{.protocol = model::Protocol::kRoceV2}});
  EXPECT_EQ(spec->hw_version, model::kMaxHardwareVersion);
  EXPECT_EQ(spec->version, model::kMaxDeviceVersion);
  EXPECT_EQ(spec->doorbells, model::Doorbells::kMapped);
  EXPECT_EQ(spec->limits, model::VmLimits{});
}

TEST(VmJson, HardwareVersionDecidesWhatIsNotNamed) {
  const auto first = read(R"({"name":"db1","hw_version":13})");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->version, 17u);
  EXPECT_EQ(first->adapters[0].protocol, model::Protocol::kRoceV1);
  const auto later = read(R"({"name":"db1","hw_version":14,"protocol":"v1"})");
  ASSERT_TRUE(later);
  EXPECT_EQ(later->version, 20u);
  EXPECT_EQ(later->adapters[0].protocol, model::Protocol::kRoceV1);
}

// So do those who knew the device version only, and what they stored.
TEST(VmJson, DeviceVersion17AloneIsHardwareVersion13) {
  const auto spec = read(R"({"name":"db1","mac":"02:50:56:01:02:03","version":17})");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->hw_version, 13u);
  EXPECT_EQ(spec->adapters[0].protocol, model::Protocol::kRoceV1);
  EXPECT_EQ(spec->adapters[0].mac, (model::MacAddress{2, 0x50, 0x56, 1, 2, 3}));
}

TEST(VmJson, KeepsASpecWhole) {
  const auto spec = read(print_json(to_json(full_spec())));
  ASSERT_TRUE(spec);
  EXPECT_EQ(*spec, full_spec());
}

TEST(VmJson, KeepsAStatusWhole) {
  const model::VmStatus status{
      .spec = full_spec(),
      .adapters = {{.socket = "/run/paravane/vm/db1.sock",
                    .state = model::VmState::kActive,
                    .pid = 4711,
                    .problem = "none \"really\"",
                    .roce = {.closed = "off"}},
                   {.socket = "/run/paravane/vm/db1.3.sock",
                    .roce = {.open = true, .superframes = true, .unmerged = "old"}}}};
  const auto read_back = vm_status_from_json(to_json(status));
  ASSERT_TRUE(read_back);
  EXPECT_EQ(*read_back, status);
}

// For clients that know one adapter.
TEST(VmJson, StatusHoldsTheFirstAdapterInItself) {
  const nlohmann::json value = to_json(model::VmStatus{
      .spec = full_spec(), .adapters = {{.socket = "/first", .pid = 7}, {.pid = 8}}});
  EXPECT_EQ(value.at("mac"), "02:50:56:01:02:03");
  EXPECT_EQ(value.at("protocol"), "v2");
  EXPECT_EQ(value.at("socket"), "/first");
  EXPECT_EQ(value.at("pid"), 7);
  EXPECT_EQ(value.at("adapters").at(1).at("number"), 3);
  EXPECT_EQ(value.at("adapters").at(1).at("pid"), 8);
}

TEST(VmJson, KeepsAChangeWhole) {
  const model::VmChange change{.hw_version = 14,
                               .protocol = model::Protocol::kRoceV1,
                               .adapter = 2,
                               .limits = {{.field = &model::kLimitFields[0], .value = 64},
                                          {.field = &model::kLimitFields[2], .value = {}}},
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
  const model::AdapterRequest request{.mac = model::MacAddress{2, 3},
                                      .protocol = model::Protocol::kRoceV1};
  EXPECT_EQ(*adapter_request_from_json(to_json(request)), request);
  EXPECT_EQ(*adapter_request_from_json(nlohmann::json::object()), model::AdapterRequest{});
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
    testing::Values(Refusal{"", "not valid JSON"}, Refusal{"{", "not valid JSON"},
                    Refusal{"{\"name\":\"a\"} x", "not valid JSON"}, Refusal{"[]", "JSON object"},
                    Refusal{"null", "JSON object"}, Refusal{"{}", "\"name\" is missing"},
                    Refusal{R"({"name":1})", "must be a string"},
                    Refusal{R"({"name":"A"})", "a name must be"},
                    Refusal{R"({"name":"a","name":"b"})", "duplicate key"},
                    Refusal{R"({"name":"a","mac":"x"})", "\"mac\" must be a MAC address"},
                    Refusal{R"({"name":"a","mac":"01:00:00:00:00:00"})", "group address"},
                    Refusal{R"({"name":"a","version":16})", "17 to 20"},
                    Refusal{R"({"name":"a","version":-1})", "whole number"},
                    Refusal{R"({"name":"a","version":20.0})", "whole number"},
                    Refusal{R"({"name":"a","version":4294967316})", "at most"},
                    Refusal{R"({"name":"a","hw_version":12})", "13 to 21"},
                    Refusal{R"({"name":"a","hw_version":22})", "13 to 21"},
                    Refusal{R"({"name":"a","hw_version":13,"version":20})", "only 17"},
                    Refusal{R"({"name":"a","hw_version":14,"version":17})", "only 18 to 20"},
                    Refusal{R"({"name":"a","version":17,"protocol":"v2"})", "RoCE v1 only"},
                    Refusal{R"({"name":"a","hw_version":13,"protocol":"v2"})", "RoCE v1 only"},
                    Refusal{R"({"name":"a","protocol":"v3"})", "\"v1\" or \"v2\""},
                    Refusal{R"({"name":"a","adapters":{}})", "must be an array"},
                    Refusal{R"({"name":"a","adapters":[]})", "1 to 8 adapters"},
                    Refusal{R"({"name":"a","adapters":[1]})", "must be a JSON object"},
                    Refusal{R"({"name":"a","adapters":[{}]})", "\"number\" is missing"},
                    Refusal{R"({"name":"a","adapters":[{"number":2}]})", "first must be number 1"},
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

TEST(VmJson, PrintsBytesThatAreNotText) {
  const model::VmStatus status{.spec = {}, .adapters = {{.problem = "\xff\xfe"}}};
  EXPECT_THAT(print_json(to_json(status)), HasSubstr("problem"));
}

TEST(VmJson, RevisionIsOfEveryPropertyAndOfNothingElse) {
  const model::VmSpec spec = full_spec();
  EXPECT_EQ(revision_of(spec), revision_of(full_spec()));
  EXPECT_EQ(revision_of(spec).size(), 16u);
  for (const auto& change : std::initializer_list<void (*)(model::VmSpec&)>{
           [](model::VmSpec& vm) { --vm.hw_version; },
           [](model::VmSpec& vm) { vm.adapters.pop_back(); },
           [](model::VmSpec& vm) { vm.limits.gids = 2; },
           [](model::VmSpec& vm) { ++vm.machine.cpus; },
           [](model::VmSpec& vm) { vm.adapters.back().port_group = "other"; }}) {
    model::VmSpec other = spec;
    change(other);
    EXPECT_NE(revision_of(other), revision_of(spec)) << to_json(other);
  }
}

TEST(VmJson, TakesAnAnswerOfANewerDaemon) {
  nlohmann::json value = to_json(model::VmStatus{.spec = full_spec(), .adapters = {{}, {}}});
  value["colour"] = "blue";
  value["adapters"][1]["colour"] = "blue";
  value["limits"]["colours"] = 7;
  value["machine"]["colour"] = "blue";
  EXPECT_TRUE(vm_status_from_json(value));
  value["adapters"][1]["state"] = "dreaming";
  EXPECT_THAT(vm_status_from_json(value).error().message, HasSubstr("dreaming"));
}

TEST(VmJson, WhatIsKeptMayHaveMoreThanIsKnownAndKeepsItsRules) {
  nlohmann::json value = to_json(full_spec());
  value["newer"] = 1;
  value["limits"]["newer"] = 1;
  value["machine"]["newer"] = 1;
  value["machine"]["disks"][0]["newer"] = 1;
  value["adapters"][0]["newer"] = 1;
  EXPECT_FALSE(vm_spec_from_json(value));
  const auto kept = kept_vm_spec_from_json(value);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(*kept, full_spec());
  value["hw_version"] = 1;
  EXPECT_FALSE(kept_vm_spec_from_json(value));
}

}  // namespace
}  // namespace paravane::api
