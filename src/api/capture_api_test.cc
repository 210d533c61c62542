// The requests about captures.

#include "api/capture_api.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "api/capture_json.h"
#include "base/base64.h"
#include "json/json_text.h"
#include "testing/fake_management.h"

namespace paravane::api {
namespace {

using nlohmann::json;

class CaptureApiTest : public testing::Test {
 protected:
  CaptureApiTest() { call("POST", "/v1/vms", R"({"name":"a"})"); }
  json call(const char* method, const std::string& path = kCapturesPath,
            const std::string& body = {},
            const std::multimap<std::string, std::string>& query = {}) {
    const ApiResponse response =
        handler_.handle({.method = method, .path = path, .query = query, .body = body});
    status_ = response.status;
    const auto value = parse_json(response.body);
    EXPECT_TRUE(value) << response.body;
    return value ? *value : json();
  }

  FakeManagement management_;
  ApiHandler handler_{management_};
  int status_ = 0;
};

TEST_F(CaptureApiTest, StartsReadsAndEnds) {
  const json started = call("POST", kCapturesPath, R"({"vm":"a"})");
  EXPECT_EQ(status_, 201);
  EXPECT_EQ(started.at("snaplen"), model::kDefaultSnaplen);
  EXPECT_EQ(started.at("interfaces")[0].at("name"), "a");
  const std::string path =
      std::string(kCapturesPath) + "/" + std::to_string(started.at("id").get<int>());
  management_.captures.front().blocks = "abc";
  const json read = call("GET", path);
  EXPECT_EQ(status_, 200);
  EXPECT_EQ(base64_decode(read.at("blocks").get<std::string>()), "abc");
  EXPECT_EQ(call("GET").at("captures").size(), 1u);
  call("DELETE", path);
  EXPECT_EQ(status_, 200);
  EXPECT_TRUE(call("GET").at("captures").empty());
  call("GET", path);
  EXPECT_EQ(status_, 404);
}

TEST_F(CaptureApiTest, CapturesTheUplinksOfInfinibandAdapters) {
  management_.ib_uplinks.push_back({.name = "vmnic32"});
  const json started = call("POST", kCapturesPath, R"({"uplink":"vmnic32","snaplen":64})");
  EXPECT_EQ(status_, 201);
  EXPECT_EQ(started.at("uplink"), "vmnic32");
  EXPECT_EQ(started.at("snaplen"), 64);
  EXPECT_FALSE(started.contains("vm"));
  EXPECT_EQ(started.at("interfaces")[0].at("name"), "vmnic32");
  call("POST", kCapturesPath, R"({"uplink":"vmnic33"})");
  EXPECT_EQ(status_, 404);
}

TEST_F(CaptureApiTest, ValuesComeBack) {
  const model::CapturePackets packets{
      .status = {.id = 7,
                 .spec = {.vm = "a", .snaplen = 0},
                 .interfaces = {{.name = "a", .packets = 5, .dropped = 2}, {.name = "a/2"}},
                 .ended = true},
      .blocks = std::string("\0\xFFx", 3)};
  const auto back = capture_packets_from_json(to_json(packets));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->status, packets.status);
  EXPECT_EQ(back->blocks, packets.blocks);
  const model::CaptureStatus of_uplink{
      .id = 8, .spec = {.uplink = "vmnic33", .snaplen = 9}, .interfaces = {}};
  const auto status = capture_status_from_json(to_json(of_uplink));
  ASSERT_TRUE(status);
  EXPECT_EQ(*status, of_uplink);
}

TEST_F(CaptureApiTest, RefusesWhatIsNone) {
  for (const char* bad :
       {"", "[]", "{}", R"({"vm":"A"})", R"({"vm":7})", R"({"vm":"a","snaplen":65536})",
        R"({"vm":"a","snaplen":-1})", R"({"vm":"a","x":1})", R"({"vm":"a","uplink":"vmnic32"})",
        R"({"uplink":"vmnic0"})", R"({"uplink":"vmnic48"})", R"({"uplink":""})", R"({"uplink":32})",
        R"({"vm":"","uplink":""})"}) {
    call("POST", kCapturesPath, bad);
    EXPECT_EQ(status_, 400) << bad;
  }
  call("POST", kCapturesPath, R"({"vm":"b"})");
  EXPECT_EQ(status_, 404);
  for (const char* bad : {"/v1/captures/", "/v1/captures/x", "/v1/captures/1x", "/v1/captures/-1",
                          "/v1/captures/1/2", "/v1/captures/18446744073709551616"}) {
    call("GET", bad);
    EXPECT_EQ(status_, 400) << bad;
  }
  call("GET", "/v1/captures/9");
  EXPECT_EQ(status_, 404);
  call("PATCH", "/v1/captures/9");
  EXPECT_EQ(status_, 405);
  call("DELETE");
  EXPECT_EQ(status_, 405);
  call("GET", kCapturesPath, {}, {{"vm", "a"}});
  EXPECT_EQ(status_, 400);
  call("GET", "/v1/capturesx");
  EXPECT_EQ(status_, 404);
}

}  // namespace
}  // namespace paravane::api
