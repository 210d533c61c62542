// Host: what it tells the event log.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "api/vm_difference.h"
#include "host/host.h"

namespace paravane::host {

void Host::tell(model::Event event) const {
  if (config_.events != nullptr) config_.events->add(std::move(event));
}

void Host::tell_vm(const char* type, const std::string& vm, std::string text) const {
  tell({.type = type, .fields = {{"vm", vm}}, .text = std::move(text)});
}

void Host::tell_adapter(const char* type, const model::AdapterName& adapter,
                        std::string_view what) const {
  tell({.type = type,
        .fields = {{"vm", adapter.vm}, {"adapter", std::to_string(adapter.number)}},
        .text = fmt::format("{} {}", to_string(adapter), what)});
}

void Host::tell_changed(const model::VmSpec& before, const model::VmSpec& after) const {
  const auto properties = api::changed_properties(before, after);
  if (!properties.empty()) {
    tell(
        {.type = "vm.changed",
         .fields = {{"vm", after.name}, {"changed", fmt::format("{}", fmt::join(properties, ","))}},
         .text = fmt::format("vm {} was changed: {}", after.name, fmt::join(properties, ", "))});
  }
  tell_moved(before, after);
}

void Host::tell_moved(const model::VmSpec& before, const model::VmSpec& after) const {
  for (const model::AdapterSpec& adapter : after.adapters) {
    const model::AdapterSpec* old = model::find_adapter(before, adapter.number);
    if (old == nullptr || old->port_group == adapter.port_group) continue;
    const std::string port = to_string(model::AdapterName{after.name, adapter.number});
    const std::string where =
        adapter.port_group.empty() ? "no port group" : "port group " + adapter.port_group;
    changes_.info("{}: in {}", port, where);
    tell({.type = "adapter.moved",
          .fields = {{"vm", after.name},
                     {"adapter", std::to_string(adapter.number)},
                     {"portgroup", adapter.port_group},
                     {"before", old->port_group}},
          .text = fmt::format("{} is in {}", port, where)});
  }
}

void Host::tell_failed(const model::AdapterName& adapter, const std::string& reason) const {
  tell({.type = "adapter.failed",
        .severity = model::Severity::kError,
        .fields = {{"vm", adapter.vm},
                   {"adapter", std::to_string(adapter.number)},
                   {"reason", reason}},
        .text = fmt::format("{} could not be created: {}", to_string(adapter), reason)});
}

void Host::tell_network(const model::Network& network) {
  for (model::Event& event : network_watch_.look(network)) tell(std::move(event));
}

}  // namespace paravane::host
