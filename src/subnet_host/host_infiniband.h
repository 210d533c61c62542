// HostInfiniband manages this host's virtual InfiniBand adapters: it keeps what an operator asks
// for in the store, and has the subnet's thread make it so. The thread is there while there is an
// adapter; without one there is no thread, no socket and no wake-up.
//
// Control thread only. Requests to the subnet's thread block this thread for a bounded time.

#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/limited_log.h"
#include "base/socket_access.h"
#include "capture/capture.h"
#include "model/event.h"
#include "model/ib_port_types.h"
#include "model/infiniband_management.h"
#include "store/device_numbers.h"
#include "store/store.h"
#include "subnet_host/host_modules.h"
#include "subnet_host/infiniband_cables.h"
#include "subnet_host/link_news.h"
#include "subnet_host/net_queue_files.h"
#include "subnet_host/srp_vmhba.h"
#include "subnet_host/subnet_thread.h"
#include "subnet_host/uplink_tap.h"

namespace paravane::subnet_host {

// The kind of the documents in the store that hold the numbers of uplinks.
inline constexpr const char* kUplinkNumberKind = "ib_uplink";

struct HostInfinibandConfig {
  std::string host;          // its name
  std::string address_seed;  // of the host, from which GUIDs are derived
  std::filesystem::path umad_socket;
  SocketAccess umad_access;
  std::function<void(model::Event)> tell{};
  // Runs a function on the control thread. Any thread may call it.
  std::function<void(std::function<void()>)> post{};
  // Numbers of NICs of this host, which no uplink gets.
  std::set<unsigned> nic_numbers{};
  // What uplinks() returns has changed. The host applies its switches.
  std::function<void()> uplinks_changed{};
  // The taps of this uplink are of no use any more: another program has deleted one, or it cannot
  // be read. The host has them opened again.
  std::function<void(const std::string& uplink)> uplink_lost{};
  // A port has come up or gone down, or there are others: srp_vmhbas() returns something else.
  std::function<void()> ports_changed{};
  // The distributed switch whose uplink on this host it is.
  struct Use {
    std::string vds{};  // empty: none
    std::uint32_t mtu = 0;
  };
  std::function<Use(const std::string& uplink)> use_of{};
};

class HostInfiniband final : public model::InfinibandManagement {
 public:
  // `store` outlives us.
  HostInfiniband(HostInfinibandConfig config, store::Store& store);
  ~HostInfiniband() override;

  // Reads the store; makes nothing. Errors: kStore.
  model::ApiResult<void> load();
  // Makes what the store has. A failure is told; the adapters stay in the store. `follows`: another
  // engine had it before and has ended, so the socket that stands there is no one's. `inherited`:
  // what that engine left of the subnet (subnet_parcel.h), untrusted; empty: nothing. What of it
  // cannot go on begins anew, which is logged.
  void begin(bool follows, std::span<const std::byte> inherited = {});

  // ---- From one engine to the next ----
  // The subnet stands still from here on until thaw(). Returns what begin() of the next engine
  // takes; empty: there is no subnet, or it begins anew there, which is logged.
  std::vector<std::byte> freeze();
  void thaw();

  // ---- IPoIB uplinks ----
  // The names of the uplinks that the adapters make ("vmnic32"): for each port as many as module
  // ib_ipoib says, kMaxIpoibUplinks at most. An uplink keeps its number for good, also while its
  // adapter is away. In the order of the adapters' buses, then of the ports.
  std::vector<std::string> uplinks() const;
  // The NIC for which a port of type Ethernet stands that is called so ("vmnic13.p2", by bus and
  // port); empty: there is no such port, or it stands for none.
  std::string nic_of_port(const std::string& name) const;
  // The keeper has opened a tap of an uplink. It replaces the one of the same VLAN. One of an
  // uplink that is not there is closed.
  void open_uplink(UplinkTap tap);
  // The taps of the uplink are not wanted any more: closes them. The keeper cannot open a tap while
  // it is open here, so this does not return before they are closed.
  void close_uplink(const std::string& uplink);
  // The same for the tap of a VLAN that the switch does not have any more. One that carries all
  // VLANs stays.
  void close_uplink(const std::string& uplink, std::uint32_t vlan);

  // ---- SRP ----
  // The vmhbas that module ib_srp makes of the ports, none if it is not loaded. Errors: kBusy.
  model::ApiResult<SrpVmhbas> srp_vmhbas();

  // ---- Cables ----
  InfinibandCables& cables() { return cables_; }

  // ---- Metrics ----
  // Each port, manager and cable as it is, without a reason. Errors: kBusy.
  model::ApiResult<std::vector<LinkNews>> link_states();

  // ---- Captures ----
  // Fills the capture, whose one interface is the uplink, with what the uplink's port sends and
  // receives, until it ends: by end_capture(), without a reader, or with the adapter. One whose
  // adapter could not be made has ended. Errors: kBusy. REQUIRES: the name is one of uplinks().
  model::ApiResult<void> start_capture(const std::string& uplink,
                                       const std::shared_ptr<capture::Capture>& capture);
  // One that has ended is not an error. Errors: kBusy.
  model::ApiResult<void> end_capture(std::uint64_t id);

  // ---- InfinibandManagement ----
  model::ApiResult<std::vector<model::IbAdapterStatus>> list_ib_adapters() override;
  model::ApiResult<model::IbAdapterStatus> add_ib_adapter(const model::IbAdapter& adapter) override;
  model::ApiResult<void> remove_ib_adapter(const std::string& name) override;
  model::ApiResult<std::vector<model::IbUplink>> list_ib_uplinks() override;
  model::ApiResult<model::IbFabric> ib_fabric() override;
  model::ApiResult<std::vector<model::IbManager>> list_ib_managers() override {
    return cables_.list_managers();
  }
  model::ApiResult<void> add_ib_manager(const std::string& host) override {
    return cables_.add_manager(host);
  }
  model::ApiResult<void> remove_ib_manager(const std::string& host) override {
    return cables_.remove_manager(host);
  }
  model::ApiResult<std::vector<model::IbModuleStatus>> list_ib_modules() override;
  model::ApiResult<model::IbModuleStatus> change_ib_module(
      const std::string& name, const model::IbModuleChange& change) override;
  model::ApiResult<void> restart_infiniband() override;

 private:
  // Starts the thread and opens its door, if that is not done.
  model::ApiResult<void> ensure_thread();
  model::ApiResult<void> start_thread();
  // Opens its door, and has cables connected. An error ends it.
  model::ApiResult<void> begin_thread();
  // The subnet goes on as far as it can. The thread is there afterwards, or it begins anew.
  void take_over(std::span<const std::byte> inherited);
  model::ApiResult<void> open_door();
  // How many uplinks there are, for programs that ask.
  void tell_door();
  bool awaits_manager() const { return std::chrono::steady_clock::now() < manager_comes_until_; }
  // Remembers why it was not made, if it was not.
  model::ApiResult<void> make(const model::IbAdapter& adapter);
  model::ApiResult<void> make_now(const model::IbAdapter& adapter);
  void end_thread();
  std::uint64_t guid_of(const std::string& node) const;
  model::ApiResult<void> check_room(const model::IbAdapter& adapter) const;
  // Errors: kInUse (a switch has an uplink of the adapter).
  model::ApiResult<void> check_unused(const std::string& adapter) const;
  model::ApiResult<void> load_uplinks();
  // Gives each uplink its number, and makes uplinks_ anew. keep_numbers() must follow.
  void number_uplinks();
  std::vector<const model::IbAdapter*> adapters_by_bus() const;
  // Of the adapter, by what is in effect.
  model::IbAdapterTypes types_of(const model::IbAdapter& adapter) const;
  // Logs and tells of ports that are not of the type that was set.
  void tell_types(const model::IbAdapter& adapter);
  model::IbModuleStatus module_status(const std::string& name) const;
  void add_port_type_problems(model::IbModuleStatus& status) const;
  void add_vmhba_status(model::IbModuleStatus& status) const;
  void keep_numbers();
  void show_net_queues();
  // After adapters came or went: closes taps of uplinks that are gone, and tells the host.
  void change_uplinks();
  void tell_lost(const std::string& uplink);
  void tell_cut(const std::string& host, std::uint64_t number, const std::string& reason);
  void tell_trouble(const std::string& why);
  void tell_news(const LinkNews& news);
  void on_news(LinkNews news);
  void close_on_thread(std::function<void(HostUplinks&)> close);
  model::ApiResult<model::IbAdapterStatus> status_of(const model::IbAdapter& adapter);
  void tell(const char* type, const std::string& adapter, std::string text) const;

  const HostInfinibandConfig config_;
  store::Store& store_;
  std::map<std::string, model::IbAdapter> adapters_;
  std::map<std::string, std::string> not_made_;  // by adapter: why
  struct Uplink {
    std::string name;     // "vmnic32"
    std::string adapter;  // "mlx4_0"
    std::uint32_t port = 1;
    bool has_net_queue = false;
    std::string identity{};  // what its number belongs to
  };
  // Those that the modules of `modules` make, without names. Adds to `problems` which are not made.
  std::vector<Uplink> wanted_uplinks(const HostModules& modules,
                                     std::vector<std::string>& problems) const;
  // Uplinks that switches lose at the next restart, by the modules' current settings.
  std::vector<std::string> uplinks_to_lose() const;
  std::vector<Uplink> uplinks_;  // in the order of uplinks()
  std::vector<std::string> uplink_problems_;
  HostModules modules_;
  NetQueueFiles net_queue_files_;
  store::DeviceNumbers numbers_;
  InfinibandCables cables_;
  std::unique_ptr<SubnetThread> thread_;  // null: there is no adapter
  bool has_door_ = false;                 // the socket's file is ours
  // Until then a subnet manager of this host may be on its way back, after a restart.
  Instant manager_comes_until_ = Instant::min();
  LimitedLog log_;
};

}  // namespace paravane::subnet_host
