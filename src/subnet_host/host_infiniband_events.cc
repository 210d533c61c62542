// HostInfiniband: what it tells, of what an operator did and of what the subnet's thread has seen,
// and the states that metrics have of it.

#include <fmt/core.h>

#include <utility>

#include "base/log.h"
#include "base/log_limit.h"
#include "subnet_host/host_infiniband.h"
#include "subnet_host/link_watch.h"
#include "subnet_host/refusals.h"

namespace paravane::subnet_host {

using model::ApiResult;

void HostInfiniband::tell(const char* type, const std::string& adapter, std::string text) const {
  if (!config_.tell) return;
  model::Event event{.type = type, .text = std::move(text)};
  if (!adapter.empty()) event.fields = {{"adapter", adapter}};
  config_.tell(std::move(event));
}

void HostInfiniband::on_news(LinkNews news) {
  if (news.of == LinkNews::Of::kPort && config_.ports_changed) config_.ports_changed();
  if (news.of == LinkNews::Of::kCable && !news.is_up) {
    if (cables_.is_apart()) return;  // an operator did that
    news.reason = cables_.why_down(news.name, news.reason);
  }
  const model::Event event = event_of(news);
  const std::string note = kept_back_note(news.kept_back);
  if (news.is_up)
    log::info("{}{}", event.text, note);
  else
    log::warn("{}{}", event.text, note);
  if (config_.tell) config_.tell(event);
}

ApiResult<std::vector<LinkNews>> HostInfiniband::link_states() {
  if (!thread_) return {};
  auto states =
      thread_->ask([thread = thread_.get()] { return LinkWatch::states_of(thread->subnet()); });
  if (!states) return thread_is_busy();
  return std::move(*states);
}

// ---- On the subnet's thread ----

void HostInfiniband::tell_lost(const std::string& uplink) {
  if (!config_.post || !config_.uplink_lost) return;
  config_.post([this, uplink] { config_.uplink_lost(uplink); });
}

void HostInfiniband::tell_cut(const std::string& host, std::uint64_t number,
                              const std::string& reason) {
  if (!config_.post) return;
  config_.post([this, host, number, reason] { cables_.on_lost(host, number, reason); });
}

void HostInfiniband::tell_news(const LinkNews& news) {
  if (!config_.post) return;
  config_.post([this, news] { on_news(news); });
}

void HostInfiniband::tell_trouble(const std::string& why) {
  if (!config_.post || !config_.tell) return;
  config_.post([this, why] {
    config_.tell(
        {.type = "infiniband.failed",
         .severity = model::Severity::kError,
         .fields = {{"reason", why}},
         .text = fmt::format("the InfiniBand subnet cannot wait for its sockets: {}", why)});
  });
}

}  // namespace paravane::subnet_host
