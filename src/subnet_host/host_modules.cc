#include "subnet_host/host_modules.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "api/ib_module_json.h"
#include "model/ib_port_types.h"

namespace paravane::subnet_host {

using model::ApiErrorCode;
using model::ApiResult;

namespace {

constexpr const char* kModuleKind = "ib_module";  // of documents in the store

}  // namespace

HostModules::HostModules(store::Store& store) : store_(store) {
  for (const model::IbModule& module : model::ib_modules()) kept_[std::string(module.name)] = {};
  in_effect_ = kept_;
}

ApiResult<void> HostModules::load() {
  const auto documents = store_.documents(kModuleKind);
  if (!documents) return std::unexpected(documents.error());
  for (const auto& [name, value] : *documents) {
    const auto setting = api::kept_ib_module_setting_from_json(value);
    const model::IbModule* module = model::find_ib_module(name);
    auto options = setting && module != nullptr
                       ? model::parse_ib_options(*module, setting->options)
                       : fail(Errc::kInvalidArgument, "there is no such module");
    if (!options) {
      const std::string& problem = setting ? options.error().message : setting.error().message;
      store_.leave_out(kModuleKind, name, problem);
      continue;
    }
    kept_[name] = {.setting = *setting, .options = std::move(*options)};
  }
  take_effect();
  return {};
}

void HostModules::take_effect() {
  in_effect_ = kept_;
}

ApiResult<void> HostModules::change(const std::string& name, const model::IbModuleChange& change,
                                    std::span<const model::IbAdapter> adapters) {
  const model::IbModule* module = model::find_ib_module(name);
  if (module == nullptr)
    return model::refuse(ApiErrorCode::kNotFound, model::check_ib_module_name(name).error().message,
                         "List the modules with: paravane infiniband module list");
  Kept wanted = kept_.at(name);
  if (change.is_enabled) wanted.setting.is_enabled = *change.is_enabled;
  if (!wanted.setting.is_enabled && !module->can_be_disabled)
    return model::refuse(ApiErrorCode::kInvalidRequest,
                         fmt::format("module {} cannot be disabled", name));
  if (change.options) {
    auto options = model::parse_ib_options(*module, *change.options);
    Status good;
    if (options) good = model::check_ib_options(*module, *options, adapters);
    if (!options || !good)
      return model::refuse(
          ApiErrorCode::kInvalidRequest, options ? good.error().message : options.error().message,
          fmt::format("List the parameters of the module with: paravane infiniband module "
                      "parameters {}",
                      name));
    wanted = {.setting = {.is_enabled = wanted.setting.is_enabled, .options = *change.options},
              .options = std::move(*options)};
  }
  auto put = store_.put_document(kModuleKind, name, api::to_json(wanted.setting));
  if (!put) return put;
  kept_[name] = std::move(wanted);
  return {};
}

const model::IbModuleSetting& HostModules::setting(std::string_view module) const {
  return kept_.find(module)->second.setting;
}

const model::IbModuleSetting& HostModules::in_effect(std::string_view module) const {
  return in_effect_.find(module)->second.setting;
}

bool HostModules::is_loaded(std::string_view module) const {
  return in_effect(module).is_enabled && lacks(module).empty();
}

std::string_view HostModules::lacks(std::string_view module) const {
  for (const std::string_view needed : model::find_ib_module(module)->needs) {
    if (!is_loaded(needed)) return needed;
  }
  return {};
}

const model::IbOptions& HostModules::options(std::string_view module) const {
  return in_effect_.find(module)->second.options;
}

std::uint32_t HostModules::value(std::string_view module, std::string_view parameter,
                                 std::size_t port) const {
  return model::ib_value(*model::find_ib_module(module), options(module), parameter, port);
}

bool HostModules::has_net_queue(const model::IbDevice& device, std::size_t port) const {
  return device.is_connectx && value(model::kModuleKernel, model::kNetQueueEnabled) != 0 &&
         value(model::kModuleBasic, model::kMsiX) != 0 &&
         value(model::kModuleIpoib, model::kNetQueue, port) != 0;
}

}  // namespace paravane::subnet_host
