#include "host/network_watch.h"

#include <fmt/core.h>

#include <map>
#include <string>

namespace paravane::host {
namespace {

using model::Event;

// `kind`: "switch", "portgroup"; `word`: what it is called in a sentence.
template <typename T>
void compare(const std::map<std::string, T>& before, const std::map<std::string, T>& after,
             const char* kind, const char* word, std::vector<model::Event>& events) {
  const auto add = [&](const std::string& name, const char* what) {
    events.push_back({.type = fmt::format("{}.{}", kind, what),
                      .fields = {{kind, name}},
                      .text = fmt::format("{} {} was {}", word, name, what)});
  };
  for (const auto& [name, value] : before) {
    if (!after.contains(name)) add(name, "deleted");
  }
  for (const auto& [name, value] : after) {
    const auto known = before.find(name);
    if (known == before.end()) {
      add(name, "created");
    } else if (known->second != value) {
      add(name, "changed");
    }
  }
}

}  // namespace

std::vector<model::Event> NetworkWatch::look(const model::Network& network) {
  std::vector<model::Event> events;
  compare(seen_.switches, network.switches, "switch", "switch", events);
  compare(seen_.port_groups, network.port_groups, "portgroup", "port group", events);
  seen_ = network;
  return events;
}

}  // namespace paravane::host
