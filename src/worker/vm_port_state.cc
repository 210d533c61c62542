// VmPort: what is handed to another engine, or kept for one, and how that takes it over.

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include "device/memory_bound.h"
#include "state/descriptors.h"
#include "state/reader.h"
#include "state/writer.h"
#include "worker/vm_port.h"

namespace paravane::worker {
namespace {

using state::Descriptors;
using state::Tag;

constexpr Tag kPortExchange{1};  // of an engine that was killed
constexpr Tag kPortMemory{2};    // this and what follows: of an attached VMM
constexpr Tag kPortInterrupts{3};
constexpr Tag kPortDoorbells{4};
constexpr Tag kPortDevice{5};
constexpr Tag kPortServer{6};
constexpr Tag kPortRoce{7};  // missing: the adapter has had no RoCE port
// Missing: of an engine that had none. What it kept is lost, then, of a guest's kernel, too.
constexpr Tag kPortJournal{8 | state::kMayBeSkipped};
// Of RoCE.
constexpr Tag kRocePathMtu{1};  // as the guest sees it; missing: it has no RoCE port
constexpr Tag kRoceConnections{2};

constexpr std::uint64_t kLargestPathMtu = 5;  // enum ib_mtu

// Of all that is not in lists of pages, for an adapter whose limits are low.
constexpr std::uint64_t kLeastObjectBytes = std::uint64_t{256} << 20;

// A VM whose requests end the engine is not served any more.
constexpr std::uint32_t kMostDeaths = 3;

}  // namespace

std::uint64_t most_state_bytes(const VmPortConfig& config) {
  const GuestMemory::Limits& limits = config.memory;
  const std::uint64_t of_memory =
      std::max(GuestMemory::kLeastListQuota,
               limits.bytes / kPageBytes * GuestMemory::kListBytesPerMappedPage);
  const std::uint64_t lists = limits.page_list_bytes != 0 ? limits.page_list_bytes : of_memory;
  // What is saved of all objects has, in sum, fewer bytes than they take.
  const device::MemoryBound bound = device::memory_bound(config.device.held_limits(), 0);
  return std::max(kLeastObjectBytes, bound.total()) + lists / 16 * 12;
}

Result<PortParcel> VmPort::save() {
  state::Writer out;
  Descriptors borrowed;
  if (server_->attached()) save_attached(Saved::kWhole, out, borrowed);
  {
    const state::Writer::Group group(out, kPortServer);
    server_->save(out, borrowed);
  }
  if (network_.roce.has_state(device_->adapter())) {
    const state::Writer::Group group(out, kPortRoce);
    save_roce(out);
  }
  if (journal_) borrowed.save(out, kPortJournal, journal_->fd());
  PortParcel parcel{.adapter = config_.adapter, .state = out.take(), .descriptors = {}};
  for (const int fd : borrowed.borrowed()) {
    UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!copy) {
      return fail_by_system(Errc::kIo, name() + ": cannot copy a descriptor", errno);
    }
    parcel.descriptors.push_back(std::move(copy));
  }
  return parcel;
}

void VmPort::keep() {
  if (!exchange_) return;
  state::Writer out;
  Descriptors borrowed;
  borrowed.save(out, kPortExchange, exchange_->fd());
  if (server_ && server_->attached()) save_attached(Saved::kWhatIsKept, out, borrowed);
  if (server_) {
    const state::Writer::Group group(out, kPortServer);
    server_->keep(out, borrowed);
  }
  borrowed.save(out, kPortJournal, journal_->fd());
  network_.keeper->keep(config_.adapter, out.take(), borrowed.borrowed());
}

// What belongs to the VMM's connection. Without one, all of it begins anew.
void VmPort::save_attached(Saved what, state::Writer& out, Descriptors& borrowed) {
  {
    const state::Writer::Group group(out, kPortMemory);
    memory_.save(out, borrowed);
  }
  {
    const state::Writer::Group group(out, kPortInterrupts);
    interrupts_.save(out, borrowed);
  }
  borrowed.save(out, kPortDoorbells, device_->doorbell_file());
  const state::Writer::Group group(out, kPortDevice);
  if (what == Saved::kWhole) {
    device_->save(out);
  } else {
    device_->keep(out);
  }
}

void VmPort::save_roce(state::Writer& out) const {
  if (network_mtu_) out.number(kRocePathMtu, *network_mtu_);
  const state::Writer::Group group(out, kRoceConnections);
  network_.roce.save(device_->adapter(), out);
}

void VmPort::abandon() {
  if (!server_) return;
  if (journal_) journal_->end_writing();
  server_->abandon();
  server_.reset();
}

Status VmPort::load(PortParcel& inherited) {
  state::Loading loading;
  state::Reader in(inherited.state, loading);
  Descriptors descriptors(std::move(inherited.descriptors));
  if (Status loaded = load_exchange(in, descriptors, inherited); !loaded) return loaded;
  if (exchange_) load_journal(descriptors, inherited);
  if (exchange_ && !journal_) {
    if (Status made = make_journal(); !made) return made;
  }
  const Status attached = cut_off_ ? skip_attached(in) : load_attached(in, descriptors);
  if (!attached) return attached;
  if (inherited.cut_off) tell_cut_off_ = false;  // whatever cuts it off tells why
  state::Reader client = in.group(kPortServer);
  if (auto roce = in.group_if(kPortRoce)) load_roce(*roce);
  static_cast<void>(in.number_if(kPortJournal));
  if (!loading.good()) return loading.status();
  if (journal_ && !device_->active() && !device_->lost()) journal_->clear();
  auto server = vfio_user::Server::adopt(server_config(), *loop_, {timers_, network_.clock},
                                         *device_, memory_, interrupts_, client, descriptors);
  if (!server) return std::unexpected(server.error());
  in.end();
  if (!loading.good()) {
    (*server)->abandon();
    return loading.status();
  }
  server_ = std::move(*server);
  watch_.begin({.attached = server_->attached(),
                .pid = server_->peer_pid(),
                .active = device_->active(),
                .dead = server_->configuration_lost(),
                .linked = config_.connected});
  tell_lost_ = device_->lost();
  if (exchange_) exchange_->mark_turn(false);
  return {};
}

// The device needs it, and stands before it in the state. One that is not good is left out, so that
// it can keep no host from being upgraded.
void VmPort::load_journal(Descriptors& descriptors, const PortParcel& inherited) {
  state::Loading loading;
  state::Reader in(inherited.state, loading);
  const bool was_killed = in.number_if(kPortExchange).has_value();
  for (const Tag group : {kPortMemory, kPortInterrupts}) static_cast<void>(in.group_if(group));
  static_cast<void>(in.number_if(kPortDoorbells));
  for (const Tag group : {kPortDevice, kPortServer, kPortRoce}) {
    static_cast<void>(in.group_if(group));
  }
  UniqueFd file = descriptors.load_if(in, kPortJournal);
  if (!file) return;
  auto journal = device::KernelJournal::take_over(std::move(file), config_.device.held_limits());
  if (!journal) return;
  journal_.emplace(std::move(*journal));
  journal_->number_by([this] { return exchange_->serial(); });
  journal_waits_ = !was_killed;
  if (journal_waits_) return;
  journal_->begin_writing();
  const bool in_hand = exchange_->step() == vfio_user::Exchange::Step::kInHand;
  journal_->go_on(in_hand ? exchange_->serial() : device::KernelJournal::kNoRequest);
}

// To load it is a turn of the VM, too.
Status VmPort::load_exchange(state::Reader& in, Descriptors& descriptors,
                             const PortParcel& inherited) {
  UniqueFd file = descriptors.load_if(in, kPortExchange);
  if (Status good = in.status(); !good) return good;
  if (!file) return network_.keeper == nullptr ? Status() : make_exchange();
  auto exchange = vfio_user::Exchange::take_over(std::move(file));
  if (!exchange) return std::unexpected(exchange.error());
  if (network_.keeper == nullptr) return {};
  exchange_.emplace(std::move(*exchange));
  if (exchange_->was_in_turn() && inherited.may_be_blamed)
    exchange_->count_death(std::chrono::steady_clock::now());
  exchange_->mark_turn(true);
  cut_off_ = inherited.cut_off || exchange_->deaths() >= kMostDeaths;
  return {};
}

Status VmPort::skip_attached(state::Reader& in) {
  tell_cut_off_ = in.group_if(kPortMemory).has_value();
  static_cast<void>(in.group_if(kPortInterrupts));
  static_cast<void>(in.number_if(kPortDoorbells));
  static_cast<void>(in.group_if(kPortDevice));
  return join({});
}

// Guest memory first, since all else finds its place there; the server afterwards, since it
// promises what the others have.
Status VmPort::load_attached(state::Reader& in, Descriptors& descriptors) {
  auto memory = in.group_if(kPortMemory);
  if (!memory) return join({});
  memory_.load(*memory, descriptors);
  state::Reader interrupts = in.group(kPortInterrupts);
  interrupts_.load(interrupts, descriptors);
  UniqueFd doorbells = descriptors.load(in, kPortDoorbells);
  state::Reader device = in.group(kPortDevice);
  config_.device = device::with_saved_doorbells(config_.device, device);
  if (Status good = in.status(); !good) return good;
  if (Status joined = join(std::move(doorbells)); !joined) return joined;
  device_->load(device);
  if (Status good = in.status(); !good) return good;
  set_connected(config_.connected);  // the guest may have seen another link
  return {};
}

// The RoCE port is opened a moment later, and may have another MTU then.
void VmPort::load_roce(state::Reader& in) {
  if (const auto path_mtu = in.number_if(kRocePathMtu, kLargestPathMtu)) {
    in.expect(*path_mtu != 0, "no path MTU");
    set_network_mtu(static_cast<std::uint32_t>(*path_mtu));
  }
  state::Reader connections = in.group(kRoceConnections);
  network_.roce.load(device_->adapter(), config_.device.mac, connections);
  in.end();
}

}  // namespace paravane::worker
