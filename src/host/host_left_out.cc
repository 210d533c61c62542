// Host: what of its state is damaged. The rest goes on without it.

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"
#include "host/host.h"

namespace paravane::host {

// What only says how this host chooses: another choice is as good, and harms no VM that is there.
model::ApiResult<void> Host::choose_anew(const std::string& kind) {
  if (auto read = store_->documents(kind); !read) return std::unexpected(read.error());
  for (const model::LeftOut& one : store_->left_out()) {
    if (one.kind != kind) continue;
    log::error("{}: {}; a new value is chosen", one.name, one.reason);
    tell({.type = "state.chosen_anew",
          .severity = model::Severity::kWarning,
          .fields = {{"kind", one.kind}, {"name", one.name}, {"reason", one.reason}},
          .text = fmt::format("a new value is chosen for {}: {}", one.name, one.reason)});
    if (auto gone = store_->erase_left_out(one); !gone) return gone;
  }
  return {};
}

void Host::tell_left_out() const {
  for (const model::LeftOut& one : store_->left_out()) {
    log::error("{} is unusable: {}. {}", name_of(one), one.reason, one.remedy);
    tell({.type = "state.left_out",
          .severity = model::Severity::kError,
          .fields = {{"kind", one.kind}, {"name", one.name}, {"reason", one.reason}},
          .text = fmt::format("{} is unusable: {}", name_of(one), one.reason)});
  }
}

std::vector<model::LeftOut> Host::left_out() const {
  std::vector<model::LeftOut> list = store_->left_out();
  if (config_.cluster == nullptr) return list;
  if (auto cluster = config_.cluster->left_out()) list.push_back(std::move(*cluster));
  return list;
}

model::ApiResult<void> Host::remove_left_out_vm(const std::string& name) {
  const auto known = store_->find_left_out(model::kLeftOutVm, name);
  if (auto gone = store_->erase_left_out(*known); !gone) return gone;
  changes_.info("{}: removed (its record was unusable)", name);
  tell_vm("vm.removed", name, fmt::format("vm {} was removed", name));
  return {};
}

}  // namespace paravane::host
