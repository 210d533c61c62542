// HostInfiniband manages this host's virtual InfiniBand adapters: it keeps what an operator asks
// for in the store, and has the subnet's thread make it so. The thread is there while there is an
// adapter; without one there is no thread, no socket and no wake-up.
//
// Control thread only. Requests to the subnet's thread block this thread for a bounded time.

#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/limited_log.h"
#include "base/socket_access.h"
#include "model/event.h"
#include "model/infiniband_management.h"
#include "store/store.h"
#include "subnet_host/subnet_thread.h"

namespace paravane::subnet_host {

struct HostInfinibandConfig {
  std::string host;          // its name
  std::string address_seed;  // of the host, from which GUIDs are derived
  std::filesystem::path umad_socket;
  SocketAccess umad_access;
  std::function<void(model::Event)> tell{};
};

class HostInfiniband final : public model::InfinibandManagement {
 public:
  // `store` outlives us.
  HostInfiniband(HostInfinibandConfig config, store::Store& store);
  ~HostInfiniband() override;

  // Reads the store; makes nothing. Errors: kStore.
  model::ApiResult<void> load();
  // Makes what the store has. A failure is told; the adapters stay in the store. `follows`: another
  // engine had it before and has ended, so the socket that stands there is no one's.
  void begin(bool follows);

  // ---- InfinibandManagement ----
  model::ApiResult<std::vector<model::IbAdapterStatus>> list_ib_adapters() override;
  model::ApiResult<model::IbAdapterStatus> add_ib_adapter(const model::IbAdapter& adapter) override;
  model::ApiResult<void> remove_ib_adapter(const std::string& name) override;
  model::ApiResult<model::IbFabric> ib_fabric() override;
  model::ApiResult<void> restart_infiniband() override;

 private:
  // Starts the thread and opens its door, if that is not done.
  model::ApiResult<void> ensure_thread();
  model::ApiResult<void> open_door();
  model::ApiResult<void> make(const model::IbAdapter& adapter);
  void end_thread();
  std::uint64_t guid_of(const std::string& node) const;
  model::ApiResult<void> check_room(const model::IbAdapter& adapter) const;
  model::ApiResult<model::IbAdapterStatus> status_of(const model::IbAdapter& adapter);
  void tell(const char* type, const std::string& adapter, std::string text) const;

  const HostInfinibandConfig config_;
  store::Store& store_;
  std::map<std::string, model::IbAdapter> adapters_;
  std::unique_ptr<SubnetThread> thread_;  // null: there is no adapter
  bool has_door_ = false;                 // the socket's file is ours
  LimitedLog log_;
};

}  // namespace paravane::subnet_host
