// Host: what it tells the event log.

#include <fmt/format.h>

#include <utility>

#include "daemon/host.h"

namespace paravane::daemon {

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

}  // namespace paravane::daemon
