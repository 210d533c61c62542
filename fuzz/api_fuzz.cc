// API requests: what a client of the management socket may send, or one of the port for
// metrics. The first byte says how: as a request that is parsed already (method, path,
// query, body, each to the end of a line), as raw bytes of HTTP, or as such at that port.

#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/api_handler.h"
#include "api/ib_module_json.h"
#include "api/infiniband_json.h"
#include "api/network_json.h"
#include "api/storage_json.h"
#include "api/vm_json.h"
#include "base/unique_fd.h"
#include "http/http_connection.h"
#include "http/request_bytes.h"
#include "json/json_text.h"
#include "metrics/metrics_handler.h"
#include "metrics/metrics_page.h"
#include "testing/fake_cluster.h"
#include "testing/fake_management.h"

namespace paravane {
namespace {

// Everything up to the next line end, which is taken away too.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

api::ApiRequest to_request(std::string_view text) {
  api::ApiRequest request{.method = std::string(take_line(text)),
                          .path = std::string(take_line(text))};
  const std::string_view query = take_line(text);
  const std::size_t equals = query.find('=');
  if (!query.empty()) {
    request.query.emplace(query.substr(0, equals), equals == std::string_view::npos
                                                       ? std::string_view()
                                                       : query.substr(equals + 1));
  }
  request.body = text;
  return request;
}

// A host with nothing to count.
class NoMetrics final : public metrics::MetricsSource {
 public:
  model::ApiResult<std::shared_ptr<const metrics::MetricsSnapshot>> metrics() override {
    return std::make_shared<const metrics::MetricsSnapshot>();
  }
};

// Whatever was asked, the answer is JSON with a status that fits, or the page of metrics.
void check_answer(const api::ApiResponse& response) {
  if (std::string_view(response.content_type) == metrics::kMetricsContentType) {
    if (response.status != 200 || !response.body.starts_with("# HELP ")) std::abort();
    return;
  }
  const auto body = parse_json(response.body);
  if (!body || !body->is_object()) std::abort();
  const bool is_error = body->contains("error");
  if (is_error != (response.status >= 400) || response.status < 200 || response.status > 599) {
    std::abort();
  }
}

void check_network(const model::Network& network) {
  for (const auto& [name, vds] : network.switches) {
    if (!model::check_switch(vds) || api::switch_from_json(api::to_json(vds)) != vds) std::abort();
  }
  for (const auto& [name, group] : network.port_groups) {
    if (!model::check_port_group(group) || !network.switches.contains(group.vds)) std::abort();
  }
}

// What was kept must keep its rules.
void check_vms(const FakeManagement& management) {
  for (const auto& [name, vm] : management.vms) {
    if (!model::check_spec(vm.spec)) std::abort();
    const auto again = api::vm_spec_from_json(api::to_json(vm.spec));
    if (!again || *again != vm.spec) std::abort();
  }
}

void check_infiniband(const FakeManagement& management) {
  for (const auto& [name, status] : management.ib_adapters) {
    if (!model::check_ib_adapter(status.adapter)) std::abort();
    const auto again = api::ib_adapter_status_from_json(api::to_json(status));
    if (!again || *again != status) std::abort();
  }
  for (const model::IbModuleStatus& status : management.ib_modules) {
    const model::IbModule& module = *model::find_ib_module(status.name);
    const auto options = model::parse_ib_options(module, status.setting.options);
    if (!options) std::abort();
    for (const auto& [name, numbers] : options->numbers) {
      const model::IbParameter& parameter = *model::find_ib_parameter(module, name);
      for (const std::uint32_t number : numbers) {
        if (number < parameter.least || number > parameter.most) std::abort();
      }
    }
    const auto again = api::ib_module_status_from_json(api::to_json(status));
    if (!again || *again != status) std::abort();
  }
}

void check_storage(const FakeManagement& management) {
  for (const model::Vmhba& vmhba : management.vmhbas) {
    if (!model::check_vmhba_setting(vmhba.setting)) std::abort();
    const auto again = api::vmhba_from_json(api::to_json(vmhba));
    if (!again || *again != vmhba) std::abort();
  }
  for (const model::SrpTargetStatus& status : management.srp_targets) {
    if (!model::check_srp_target(status.target)) std::abort();
    const auto again = api::srp_target_status_from_json(api::to_json(status));
    if (!again || *again != status) std::abort();
  }
}

void send_raw(std::string_view bytes, api::RequestHandler& handler) {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  const UniqueFd client(ends[0]);
  UniqueFd server(ends[1]);
  http::RequestBytes request;
  // As it comes in pieces: where they are cut makes no difference.
  bool whole = false;
  for (std::size_t at = 0; at < bytes.size() && !whole; at += 100) {
    whole = request.add(bytes.substr(at, 100));
  }
  http::serve_http(std::move(server), request.take(), handler);
}

}  // namespace
}  // namespace paravane

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  paravane::FakeManagement management;
  paravane::model::VmSpec known;
  known.name = "db1";
  if (!management.add_vm(known)) std::abort();
  if (!management.create_switch({.name = "lan", .hosts = {{"h1", ""}}})) std::abort();
  const auto known_adapter =
      management.add_ib_adapter({.name = "mlx4_0", .device = "MT26428", .bus = 13});
  if (!known_adapter) std::abort();
  management.vmhbas = {{.name = "vmhba32"}};
  // Nobody waits: the fuzzer has no time.
  paravane::api::EventLog events("boot", {.waiters = 0});
  events.add({.type = "vm.added", .fields = {{"vm", "db1"}}, .text = "vm db1 was added"});
  paravane::FakeCluster cluster;
  paravane::NoMetrics source;
  paravane::metrics::RequestCounts counts;
  paravane::metrics::MetricsHandler metrics(
      {.source = source, .cluster = cluster, .events = events, .requests = counts});
  paravane::api::ApiHandler api(management, nullptr, &events);
  paravane::metrics::ObservedApi handler(api, metrics, counts);
  if (data[0] == 'M') {
    paravane::send_raw(text, metrics);
  } else if (data[0] == 'H') {
    paravane::send_raw(text, handler);
  } else {
    paravane::check_answer(handler.handle(paravane::to_request(text)));
  }
  paravane::check_vms(management);
  paravane::check_network(management.network);
  paravane::check_infiniband(management);
  paravane::check_storage(management);
  return 0;
}
