// paravane rdma device list, protocol list, stats get.

#include <fmt/core.h>

#include <array>
#include <memory>
#include <string>

#include "cli/esxcli_tree.h"
#include "cli/machine_tables.h"

namespace paravane::cli {
namespace {

ExitStatus show_rdma(text::TextTable (*table)(const std::vector<model::RdmaDevice>&),
                     const Context& context) {
  api::ApiClient client = context.client();
  const auto devices = client.list_rdma_devices();
  if (!devices) return report(devices.error(), client);
  fmt::print("{}", table(*devices).print(context.format));
  return ExitStatus::kOk;
}

ExitStatus run_stats_rdma(const std::string& device, const Context& context) {
  if (const Status good = model::check_rdma_name(device); !good) {
    return report_usage(good.error().message);
  }
  api::ApiClient client = context.client();
  const auto stats = client.rdma_device_stats(device);
  if (!stats) return report(stats.error(), client);
  const std::array records = {rdma_stats_record(*stats)};
  fmt::print("{}", text::print_records(records, context.format));
  return ExitStatus::kOk;
}

}  // namespace

void add_rdma_device_commands(CLI::App& root, Run& run) {
  add_esxcli_command(root, "rdma device list", "List the RDMA devices of this host",
                     {"rdma device list", "--formatter=csv rdma device list"})
      .callback([&run] {
        run = [](const Context& context) { return show_rdma(rdma_device_table, context); };
      });
  add_esxcli_command(root, "rdma device protocol list", "List the protocols of each device")
      .callback([&run] {
        run = [](const Context& context) { return show_rdma(rdma_protocol_table, context); };
      });
  CLI::App& get = add_esxcli_command(root, "rdma device stats get", "Show the counters of a device",
                                     {"rdma device stats get -d vmrdma0"});
  auto device = std::make_shared<std::string>();
  get.add_option("-d,--device", *device, "RDMA device, as rdma device list names it")
      ->type_name("vmrdmaN")
      ->required();
  get.callback([device, &run] {
    run = [device](const Context& context) { return run_stats_rdma(*device, context); };
  });
}

}  // namespace paravane::cli
