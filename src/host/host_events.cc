// Host: what it tells the event log.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "base/log.h"
#include "control/vm_difference.h"
#include "host/host.h"

namespace paravane::host {

using control::Event;

void Host::tell(Event event) const {
  if (config_.events != nullptr) config_.events->add(std::move(event));
}

void Host::tell_vm(const char* type, const std::string& vm, std::string text) const {
  tell({.type = type, .fields = {{"vm", vm}}, .text = std::move(text)});
}

void Host::tell_adapter(const char* type, const std::string& vm, std::uint32_t number,
                        std::string text) const {
  tell({.type = type,
        .fields = {{"vm", vm}, {"adapter", std::to_string(number)}},
        .text = std::move(text)});
}

void Host::tell_changed(const control::VmSpec& before, const control::VmSpec& after) const {
  const auto properties = control::changed_properties(before, after);
  if (!properties.empty()) {
    tell(
        {.type = "vm.changed",
         .fields = {{"vm", after.name}, {"changed", fmt::format("{}", fmt::join(properties, ","))}},
         .text = fmt::format("vm {} was changed: {}", after.name, fmt::join(properties, ", "))});
  }
  tell_moved(before, after);
}

void Host::tell_moved(const control::VmSpec& before, const control::VmSpec& after) const {
  for (const control::AdapterSpec& adapter : after.adapters) {
    const control::AdapterSpec* old = control::find_adapter(before, adapter.number);
    if (old == nullptr || old->port_group == adapter.port_group) continue;
    const std::string port = control::adapter_name(after.name, adapter.number);
    const std::string where =
        adapter.port_group.empty() ? "no port group" : "port group " + adapter.port_group;
    log::info("{}: in {}", port, where);
    tell({.type = "adapter.moved",
          .fields = {{"vm", after.name},
                     {"adapter", std::to_string(adapter.number)},
                     {"portgroup", adapter.port_group},
                     {"before", old->port_group}},
          .text = fmt::format("{} is in {}", port, where)});
  }
}

void Host::tell_failed(const std::string& vm, std::uint32_t number,
                       const std::string& reason) const {
  tell(
      {.type = "adapter.failed",
       .severity = control::Severity::kError,
       .fields = {{"vm", vm}, {"adapter", std::to_string(number)}, {"reason", reason}},
       .text = fmt::format("{} could not be made: {}", control::adapter_name(vm, number), reason)});
}

void Host::tell_network(const control::Network& network) {
  for (Event& event : network_watch_.look(network)) tell(std::move(event));
}

}  // namespace paravane::host
