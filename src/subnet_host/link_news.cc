#include "subnet_host/link_news.h"

#include <fmt/core.h>

#include <utility>

namespace paravane::subnet_host {
namespace {

model::Event port_event(const LinkNews& news, const std::string& port) {
  if (news.is_up) return {.type = "infiniband.port.up", .text = fmt::format("{} is Active", port)};
  return {.type = "infiniband.port.down",
          .severity = model::Severity::kWarning,
          .text = fmt::format("{} is not Active any more: {}", port, news.reason)};
}

model::Event manager_event(const LinkNews& news, const std::string& port) {
  if (news.is_up)
    return {.type = "infiniband.manager.started",
            .text = fmt::format("a subnet manager has started at {}", port)};
  return {.type = "infiniband.manager.ended",
          .severity = model::Severity::kWarning,
          .text = fmt::format("the subnet manager at {} has ended", port)};
}

model::Event cable_event(const LinkNews& news) {
  if (news.is_up)
    return {.type = "infiniband.cable.up",
            .text = fmt::format("the cable to host {} is up", news.name)};
  return {.type = "infiniband.cable.down",
          .severity = model::Severity::kWarning,
          .text = fmt::format("the cable to host {} is down: {}", news.name, news.reason)};
}

model::Event event_without_fields(const LinkNews& news) {
  const std::string port =
      fmt::format("port {} of InfiniBand adapter {}", unsigned{news.port}, news.name);
  switch (news.of) {
    case LinkNews::Of::kPort: return port_event(news, port);
    case LinkNews::Of::kManager: return manager_event(news, port);
    case LinkNews::Of::kCable: return cable_event(news);
  }
  return {};
}

}  // namespace

model::Event event_of(const LinkNews& news) {
  model::Event event = event_without_fields(news);
  if (news.of == LinkNews::Of::kCable) {
    event.fields["host"] = news.name;
  } else {
    event.fields["adapter"] = news.name;
    event.fields["port"] = std::to_string(news.port);
  }
  if (!news.reason.empty()) event.fields["reason"] = news.reason;
  if (news.kept_back > 0) event.fields["kept_back"] = std::to_string(news.kept_back);
  return event;
}

}  // namespace paravane::subnet_host
