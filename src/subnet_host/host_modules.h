// HostModules keeps what an operator has set of the driver modules (model/ib_module.h) in the
// store, and says what of it is in effect: what was set when the adapters were last made.
//
// Control thread only.

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "model/api_error.h"
#include "model/ib_device.h"
#include "model/ib_module.h"
#include "model/ib_module_status.h"
#include "model/infiniband.h"
#include "store/store.h"

namespace paravane::subnet_host {

class HostModules {
 public:
  // `store` outlives us.
  explicit HostModules(store::Store& store);

  // What is kept is in effect from here on. A damaged document is left out. Errors: kStore.
  model::ApiResult<void> load();
  void take_effect();

  // `adapters`: those of the host. Nothing is kept if it is refused. Errors: kNotFound,
  // kInvalidRequest, kNoSpace, kStore.
  model::ApiResult<void> change(const std::string& name, const model::IbModuleChange& change,
                                std::span<const model::IbAdapter> adapters);

  // ---- REQUIRES: a module that there is. ----
  const model::IbModuleSetting& setting(std::string_view module) const;
  const model::IbModuleSetting& in_effect(std::string_view module) const;
  // It is enabled, and so are those that it needs, in effect.
  bool is_loaded(std::string_view module) const;
  // The first of those that it needs that is not loaded; empty: all are.
  std::string_view lacks(std::string_view module) const;
  const model::IbOptions& options(std::string_view module) const;
  // In effect. `port`: counted from 0, in the order of buses.
  std::uint32_t value(std::string_view module, std::string_view parameter,
                      std::size_t port = 0) const;
  // NetQueue at a port, which only ConnectX has: all three parameters allow it.
  bool has_net_queue(const model::IbDevice& device, std::size_t port) const;

 private:
  struct Kept {
    model::IbModuleSetting setting{};
    model::IbOptions options{};
  };
  using ByName = std::map<std::string, Kept, std::less<>>;

  store::Store& store_;
  ByName kept_;  // all modules
  ByName in_effect_;
};

}  // namespace paravane::subnet_host
