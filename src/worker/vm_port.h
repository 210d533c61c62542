// VmPort is one adapter of a VM with everything that belongs to it: guest memory, interrupts, the
// PVRDMA device, its GIDs in the fabric, and the vfio-user socket to which the VMM connects. VmPort
// has its own event loop and timers. All work that a VM causes is therefore done in the turns (time
// slices) that the worker gives this VM.
//
// Worker thread only.

#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/event_signal.h"
#include "base/limited_log.h"
#include "base/socket_access.h"
#include "base/timers.h"
#include "base/turn_clock.h"
#include "device/journal/kernel_journal.h"
#include "device/pvrdma_device.h"
#include "fabric/directory.h"
#include "guestmem/guest_memory.h"
#include "model/adapter_name.h"
#include "state/descriptors.h"
#include "state/reader.h"
#include "state/writer.h"
#include "transport/channel/channel_transport.h"
#include "transport/local/local_transport.h"
#include "transport/roce/roce_transport.h"
#include "transport/roce/tap_door.h"
#include "vfio_user/interrupts.h"
#include "vfio_user/server.h"
#include "worker/port_keeper.h"
#include "worker/port_parcel.h"
#include "worker/port_watch.h"
#include "worker/tenant.h"

namespace paravane::worker {

struct VmPortConfig {
  model::AdapterName adapter;
  device::DeviceConfig device;  // its name: the adapter's, as text
  GuestMemory::Limits memory;
  std::filesystem::path socket;
  SocketAccess access;
  bool connected = true;  // to the switch
  verbs::SegmentId segment = verbs::SegmentId::kBuiltIn;
};

// How long the state of such an adapter can be (VmPort::save()): what its objects take of memory,
// as less is saved of them in sum, and 12 bytes for each stretch of pages, of which the quota of
// its page lists counts 16.
std::uint64_t most_state_bytes(const VmPortConfig& config);

// What the ports of one worker share.
struct PortNetwork {
  transport_local::LocalTransport& local;
  transport_roce::RoceTransport& roce;
  transport_channel::ChannelTransport& tcp;
  transport_channel::ChannelTransport& hca;
  fabric::Directory& directory;
  EventSignal& event_signal;
  MappingSink& mappings;
  const TurnClock& clock;
  const PortWatch::Speech& speech;
  PortKeeper* keeper = nullptr;  // null: an engine that is killed leaves nothing
};

class VmPort final : public Tenant, private vfio_user::AttachmentKeeper {
 public:
  // `network` outlives the port. Errors: as PvrdmaDevice::create() and
  // Server::listen().
  static Result<std::unique_ptr<VmPort>> create(const VmPortConfig& config, verbs::AdapterId id,
                                                const PortNetwork& network);
  // The same, and takes over what the engine before this one has saved, or what was kept of one
  // that was killed: the VMM stays connected. Errors: also kInvalidArgument (the state is refused,
  // and the text says where and why).
  static Result<std::unique_ptr<VmPort>> adopt(const VmPortConfig& config, verbs::AdapterId id,
                                               const PortNetwork& network, PortParcel parcel);
  ~VmPort() override;

  // What another engine needs to take the adapter over. This port can go on afterwards. REQUIRES:
  // no turn is running, and the port has not left. Errors: kIo, kResourceExhausted (descriptors).
  Result<PortParcel> save();
  // The engine before has ended. Called for all ports that were adopted, before any of them has a
  // turn: each turn may complete what another port's guest waits for.
  void begin();
  // Has the keeper of the network keep this adapter from now on.
  void keep();
  // Another engine has taken the adapter over: its VMM is not disconnected when this port ends.
  void abandon();

  // ---- Tenant ----
  bool has_work() const override;
  Instant next_look() override;
  bool turn(Instant now, verbs::Budget& budget) override;

  // This descriptor is readable when the VMM has sent something; the worker then calls
  // on_readable().
  int fd() const { return loop_->fd(); }
  void on_readable() { readable_ = true; }

  // Notifies the guest, disconnects the VMM, and removes the socket and the GIDs. The guest's
  // objects are then destroyed in several turns; when none is left, destroying the port is quick.
  void leave();
  bool left() const { return !server_ && !device_->has_work(); }

  // Connects the adapter to its switch or disconnects it. The guest sees the link change.
  void set_connected(bool connected);

  // Moves the adapter to another network, even while the VM is running. It is the network of the
  // adapter's NIC.
  void set_segment(verbs::SegmentId segment);

  // From now on, the adapter reaches native RoCE endpoints through `door`; null: it reaches none.
  // Its connections with them go on when it has a door again, as do those that were adopted.
  // Returns the door that was used before, which must not be read any more.
  std::unique_ptr<transport_roce::TapDoor> set_door(std::unique_ptr<transport_roce::TapDoor> door);
  // nullptr: none.
  const transport_roce::TapDoor* door() const { return door_.get(); }
  // REQUIRES: door().
  const transport_roce::RoceCounters* roce_counters() const {
    return network_.roce.counters_of(id_);
  }
  // The ways through routers that its connections use, and whether they are answered.
  std::vector<transport_roce::ProbeReport> probes() const { return network_.roce.probes_of(id_); }
  // Of one of its connections. REQUIRES: its path is routed.
  transport_roce::ProbeReport probe_of(std::uint32_t qp) const;
  // Why the adapter reaches no native endpoints, as the operator's objects have it; empty: a door
  // is being opened.
  void set_roce_closed(std::string why) { roce_closed_ = std::move(why); }
  const std::string& roce_closed() const { return roce_closed_; }

  const std::string& name() const { return config_.device.name; }
  const VmPortConfig& config() const { return config_; }
  verbs::AdapterId id() const { return id_; }
  device::PvrdmaDevice& device() { return *device_; }
  // REQUIRES: it has not left.
  vfio_user::Server& server() { return *server_; }
  GuestMemory& memory() { return memory_; }
  const GuestMemory& memory() const { return memory_; }
  vfio_user::Interrupts& interrupts() { return interrupts_; }
  const PortWatch& watch() const { return watch_; }

 private:
  VmPort(const VmPortConfig& config, verbs::AdapterId id, const PortNetwork& network);
  Status build(PortParcel* inherited);
  Status make_exchange();
  Status make_journal();
  vfio_user::ServerConfig server_config();
  void keep_attachment() override { keep(); }
  Status join(UniqueFd doorbell_file);
  enum class Saved : std::uint8_t { kWhole, kWhatIsKept };
  void save_attached(Saved what, state::Writer& out, state::Descriptors& borrowed);
  Status skip_attached(state::Reader& in);
  void load_journal(state::Descriptors& descriptors, const PortParcel& inherited);
  Status load_exchange(state::Reader& in, state::Descriptors& descriptors,
                       const PortParcel& inherited);
  void save_roce(state::Writer& out) const;
  Status load(PortParcel& inherited);
  Status load_attached(state::Reader& in, state::Descriptors& descriptors);
  void load_roce(state::Reader& in);
  Status listen();
  void set_network_mtu(std::optional<std::uint32_t> path_mtu);
  bool take_turn(Instant now, verbs::Budget& budget);
  void end_if_fatal();
  void tell_cut_off();
  void look(Instant now);

  VmPortConfig config_;
  verbs::AdapterId id_;
  PortNetwork network_;
  PortWatch watch_;
  bool readable_ = false;
  bool look_due_ = false;      // something changed outside of a turn
  bool tell_lost_ = false;     // the guest does not know yet that its device is lost
  bool cut_off_ = false;       // the VMM of the state is left out
  bool tell_cut_off_ = false;  // there was one, and why is to be told

  // In the order of their dependencies.
  std::unique_ptr<EventLoop> loop_;
  TimerQueue timers_;
  std::optional<vfio_user::Exchange> exchange_;   // there if the network has a keeper
  std::optional<device::KernelJournal> journal_;  // likewise
  bool journal_waits_ = false;                    // for the end of the engine that writes to it
  GuestMemory memory_;
  vfio_user::Interrupts interrupts_;
  std::unique_ptr<verbs::FabricPort> fabric_;
  std::unique_ptr<device::PvrdmaDevice> device_;
  bool on_transport_ = false;
  std::unique_ptr<transport_roce::TapDoor> door_;
  std::optional<std::uint32_t> network_mtu_;  // of the RoCE port's network, as a path MTU
  std::string roce_closed_;
  std::unique_ptr<vfio_user::Server> server_;  // none: the port leaves
  LimitedLog complaints_;
};

}  // namespace paravane::worker
