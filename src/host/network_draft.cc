#include "host/network_draft.h"

#include <fmt/core.h>

#include "inventory/view.h"

namespace paravane::host {

using model::ApiResult;

model::ApiResult<void> NetworkDraft::put_switch(const model::DistributedSwitch& vds) {
  std::string text = inventory::print_switch(vds);
  if (text.size() > inventory::View::kMaxDocument) {
    return model::refuse(model::ApiErrorCode::kLimitReached,
                         fmt::format("switch {} has too many hosts for a cluster", vds.name),
                         "Create a second switch for some of the hosts.");
  }
  change_ = {.document = inventory::switch_document(vds.name), .json = std::move(text)};
  return {};
}

model::ApiResult<void> NetworkDraft::erase_switch(const std::string& name) {
  change_ = {.document = inventory::switch_document(name), .json = std::nullopt};
  return {};
}

model::ApiResult<void> NetworkDraft::put_port_group(const model::PortGroup& group) {
  change_ = {.document = inventory::port_group_document(group.name),
             .json = inventory::print_port_group(group)};
  return {};
}

model::ApiResult<void> NetworkDraft::erase_port_group(const std::string& name) {
  change_ = {.document = inventory::port_group_document(name), .json = std::nullopt};
  return {};
}

}  // namespace paravane::host
