#include "metrics/metrics_infiniband.h"

#include <array>
#include <string>
#include <string_view>

#include "base/version.h"

namespace paravane::metrics {
namespace {

// The sum of up to three counters of ours, less one.
struct Mapping {
  const char* name;
  const char* help;
  std::array<std::string_view, 3> sum;
  std::string_view less{};
};

constexpr std::array kMappings = {
    Mapping{"port_data_received_bytes_total",
            "Payload bytes received",
            {"received_bytes", "fetched_bytes"}},
    Mapping{
        "port_data_transmitted_bytes_total", "Payload bytes sent", {"sent_bytes", "read_bytes"}},
    Mapping{
        "port_packets_received_total", "Messages received, not split into packets", {"receives"}},
    Mapping{"port_packets_transmitted_total", "Messages sent, not split into packets", {"sends"}},
    Mapping{"port_discards_received_total",
            "Datagrams dropped for lack of a posted receive",
            {"datagrams_dropped"}},
    Mapping{"port_discards_transmitted_total",
            "Datagrams dropped for lack of a recipient",
            {"datagrams_unreachable"}},
    Mapping{"port_errors_received_total",
            "Received messages that were refused",
            {"remote_access_errors", "remote_request_errors", "qkey_violations"}},
    Mapping{"link_downed_total", "Times the link went down", {"link_downs"}},
    Mapping{"rx_read_requests_total", "READ requests executed for peers", {"reads_answered"}},
    Mapping{"rx_write_requests_total", "WRITE requests executed for peers", {"writes_answered"}},
    Mapping{"rx_atomic_requests_total", "ATOMIC requests executed for peers", {"atomics_answered"}},
    Mapping{"duplicate_requests_packets_total",
            "Duplicate requests answered again without execution",
            {"duplicates"}},
    Mapping{
        "local_ack_timeout_errors_total", "Response timeouts within the retry limit", {"retries"}},
    Mapping{"rnr_nak_retry_packets_received_total",
            "RNR NAKs from peers within the retry limit",
            {"rnr_waits"}},
    Mapping{"out_of_buffer_drops_total",
            "Messages that arrived with no receive posted",
            {"receives_missing"}},
    Mapping{"req_cqes_errors_total",
            "Local requests completed with an error",
            {"completion_errors"},
            "receive_errors"},
    Mapping{
        "req_cqes_flush_errors_total", "Local requests flushed", {"flushed"}, "flushed_receives"},
    Mapping{"req_remote_access_errors_total",
            "Local requests that failed with a remote access error",
            {"refused_access"}},
    Mapping{"req_remote_invalid_request_errors_total",
            "Local requests that failed as invalid at a peer",
            {"refused_requests"}},
    Mapping{"resp_cqes_errors_total", "Receives completed with an error", {"receive_errors"}},
    Mapping{"resp_cqes_flush_errors_total", "Receives flushed", {"flushed_receives"}},
    Mapping{"resp_local_length_errors_total",
            "Messages longer than their posted receive",
            {"length_errors"}},
    Mapping{"resp_remote_access_errors_total", "Remote accesses refused", {"remote_access_errors"}},
};

std::uint64_t value_of(const worker::AdapterMetrics& adapter, std::string_view name) {
  for (const model::CounterGroup& group : adapter.groups) {
    if (group.name != "engine" && group.name != "device") continue;
    for (const model::CounterValue& counter : group.counters) {
      if (counter.name == name) return counter.value;
    }
  }
  return 0;
}

std::string family(std::string_view name) {
  return "node_infiniband_" + std::string(name);
}

}  // namespace

void add_infiniband(const VmMetrics& vm, std::size_t place, FamilySet& families) {
  const model::VmSpec& spec = vm.status.spec;
  const model::AdapterSpec& adapter = spec.adapters[place];
  const std::string device = spec.name + "/" + std::to_string(adapter.number);
  const MetricLabels labels = {{"device", device}, {"port", "1"}};
  const bool active = vm.status.adapters[place].state == model::VmState::kActive;
  families.gauge(family("info"), "Description of the adapter; the value is always 1",
                 {{"device", device},
                  {"board_id", std::to_string(spec.version)},
                  {"firmware_version", kVersion},
                  {"hca_type", "VMW_PVRDMA"}},
                 1);
  families.gauge(family("state_id"),
                 "State of the port (0: no change, 1: down, 2: init, 3: armed, 4: active, 5: act "
                 "defer)",
                 labels, active && adapter.connected ? 4 : 1);
  families.gauge(family("physical_state_id"),
                 "Physical state of the port (0: no change, 1: sleep, 2: polling, 3: disable, 4: "
                 "shift, 5: link up, 6: link error recover, 7: phytest)",
                 labels, adapter.connected ? 5 : 3);
  families.gauge(family("rate_bytes_per_second"), "Transfer rate reported to the guest", labels,
                 kPortBytesPerSecond);
  if (place >= vm.adapters.size() || !vm.adapters[place]) return;
  const worker::AdapterMetrics& counted = *vm.adapters[place];
  for (const Mapping& mapping : kMappings) {
    std::uint64_t value = 0;
    for (const std::string_view name : mapping.sum) {
      if (!name.empty()) value += value_of(counted, name);
    }
    if (!mapping.less.empty()) value -= value_of(counted, mapping.less);
    families.counter(family(mapping.name), mapping.help, labels, static_cast<double>(value));
  }
}

}  // namespace paravane::metrics
