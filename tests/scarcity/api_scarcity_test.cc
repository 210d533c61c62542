// Each request of the API, with memory that fails at one allocation after the other. The memory
// reserve is there for that, since a JSON value allocates where it ends (nlohmann-json) and must
// not fail: what is under way ends well, and nothing is half made.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/api_handler.h"
#include "base/memory_reserve.h"
#include "host/host.h"
#include "http/http_connection.h"
#include "http/refusal.h"
#include "testing/log_capture.h"
#include "testing/scarce_memory.h"
#include "testing/temp_dir.h"

namespace paravane {
namespace {

using testing::StartsWith;

struct ScarceRequest {
  const char* name;
  std::string method;
  std::string path;
  std::string body{};
  std::string body_before{};  // of a request like it, so that it has something to change
};

std::ostream& operator<<(std::ostream& out, const ScarceRequest& request) {
  return out << request.name;
}

class ApiScarcity : public testing::TestWithParam<ScarceRequest> {
 protected:
  static void SetUpTestSuite() { keep_memory_reserve(); }

  ApiScarcity() {
    std::filesystem::create_directory(dir_.path() / "state");
    std::filesystem::create_directory(dir_.path() / "vms");
    host::HostConfig config;
    config.config.state_dir = dir_.path() / "state";
    config.config.vfio_user.socket_dir = dir_.path() / "vms";
    config.events = &events_;
    auto host = host::Host::start(config, [] {});
    if (host) host_ = std::move(*host);
    handler_.emplace(*host_, nullptr, &events_);
  }

  // With the answer, after what broke off was settled, as the control thread does it.
  std::string ask(const std::string& method, const std::string& path, const std::string& body,
                  std::uint64_t failing, bool& has_failed) {
    const std::string bytes = method + " " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                              std::to_string(body.size()) + "\r\n\r\n" + body;
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const UniqueFd client(ends[0]);
    {
      const ScarceMemory scarce(failing);
      http::serve_http(UniqueFd(ends[1]), bytes, *handler_, refusal_);
      has_failed = scarce.has_failed();
    }
    host_->unsettle();
    host_->settle();
    EXPECT_FALSE(host_->is_unsettled());
    std::string answer;
    char buffer[4096];
    ssize_t count = 0;
    while ((count = ::recv(client.get(), buffer, sizeof buffer, 0)) > 0) {
      answer.append(buffer, static_cast<std::size_t>(count));
    }
    return answer;
  }
  std::string ask(const std::string& method, const std::string& path,
                  const std::string& body = {}) {
    bool ignored = false;
    return ask(method, path, body, UINT32_MAX, ignored);
  }

  std::set<std::string> vms() {
    std::set<std::string> names;
    const auto list = host_->list_vms();
    if (!list) return names;
    for (const model::VmStatus& vm : *list) {
      for (const model::AdapterSpec& adapter : vm.spec.adapters) {
        names.insert(to_string(model::AdapterName{vm.spec.name, adapter.number}));
      }
    }
    return names;
  }
  std::set<std::string> ports() {
    const auto states = host_->worker().ask([this] { return host_->ports().states(); });
    std::set<std::string> names;
    for (const auto& [port, state] :
         states.value_or(std::map<model::AdapterName, worker::PortState>()))
      names.insert(to_string(port));
    return names;
  }
  std::size_t sockets() const {
    std::size_t count = 0;
    for (const auto& file : std::filesystem::directory_iterator(dir_.path() / "vms")) {
      count += file.path().extension() == ".sock" ? 1U : 0U;
    }
    return count;
  }

  const LogCapture log_;
  TempDir dir_{"/dev/shm"};  // each change waits for the disk
  api::EventLog events_{"b0"};
  std::unique_ptr<host::Host> host_;
  std::optional<api::ApiHandler> handler_;
  const std::string refusal_ = http::make_refusal(api::error_response(model::no_memory()));
};

TEST_P(ApiScarcity, EndsWellByTheReserve) {
  const ScarceRequest& request = GetParam();
  const std::string db1 = R"({"name":"db1"})";
  ask("POST", "/v1/vms", db1);
  ask("POST", "/v1/vms/db1/adapters", "{}");
  const std::set<std::string> before = vms();
  ASSERT_EQ(before.size(), 2u);
  bool has_failed = true;
  std::uint64_t number = 0;
  while (has_failed) {
    number += 1 + number / 20;  // each of the first, and a sample of the later ones
    if (!request.body_before.empty()) ask(request.method, request.path, request.body_before);
    ASSERT_TRUE(has_memory_reserve());
    const std::uint64_t uses = memory_reserve_uses();
    const std::string answer = ask(request.method, request.path, request.body, number, has_failed);
    ASSERT_THAT(answer, StartsWith("HTTP/1.1 2")) << number;
    ASSERT_EQ(memory_reserve_uses() - uses, has_failed ? 1u : 0u) << number;
    ASSERT_EQ(ports(), vms()) << number;
    ASSERT_EQ(sockets(), vms().size()) << number;
    if (vms() == before) continue;
    for (const std::string name : {"db1", "new"}) ask("DELETE", "/v1/vms/" + name + "?force=true");
    ASSERT_THAT(ask("POST", "/v1/vms", db1), StartsWith("HTTP/1.1 201 ")) << number;
    ASSERT_THAT(ask("POST", "/v1/vms/db1/adapters", "{}"), StartsWith("HTTP/1.1 201 ")) << number;
    ASSERT_EQ(vms(), before) << number;
  }
  EXPECT_GT(number, 10u);
}

INSTANTIATE_TEST_SUITE_P(
    Requests, ApiScarcity,
    testing::Values(ScarceRequest{"Status", "GET", "/v1/status"},
                    ScarceRequest{"ListVms", "GET", "/v1/vms"},
                    ScarceRequest{"ShowVm", "GET", "/v1/vms/db1"},
                    ScarceRequest{"Stats", "GET", "/v1/stats"},
                    ScarceRequest{"Events", "GET", "/v1/events"},
                    ScarceRequest{"AddVm", "POST", "/v1/vms", R"({"name":"new"})"},
                    ScarceRequest{"RemoveVm", "DELETE", "/v1/vms/db1"},
                    ScarceRequest{"ChangeVm", "PATCH", "/v1/vms/db1", R"({"hw_version":15})",
                                  R"({"hw_version":14})"},
                    ScarceRequest{"AddAdapter", "POST", "/v1/vms/db1/adapters", "{}"},
                    ScarceRequest{"RemoveAdapter", "DELETE", "/v1/vms/db1/adapters/2"}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace paravane
