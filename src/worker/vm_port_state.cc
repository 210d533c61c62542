// VmPort: what is handed to another engine, and how that takes it over.

#include <fcntl.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "state/descriptors.h"
#include "state/reader.h"
#include "state/writer.h"
#include "worker/vm_port.h"

namespace paravane::worker {
namespace {

using state::Descriptors;
using state::Tag;

constexpr Tag kPortMemory{1};
constexpr Tag kPortInterrupts{2};
constexpr Tag kPortDoorbells{3};
constexpr Tag kPortDevice{4};
constexpr Tag kPortServer{5};

}  // namespace

Result<PortParcel> VmPort::save() {
  state::Writer out;
  Descriptors borrowed;
  if (server_->attached()) save_attached(out, borrowed);
  {
    const state::Writer::Group group(out, kPortServer);
    server_->save(out, borrowed);
  }
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

// What belongs to the VMM's connection. Without one, all of it begins anew.
void VmPort::save_attached(state::Writer& out, Descriptors& borrowed) {
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
  device_->save(out);
}

void VmPort::abandon() {
  if (!server_) return;
  server_->abandon();
  server_.reset();
}

Status VmPort::load(PortParcel& inherited) {
  state::Loading loading;
  state::Reader in(inherited.state, loading);
  Descriptors descriptors(std::move(inherited.descriptors));
  const Status attached = load_attached(in, descriptors);
  if (!attached) return attached;
  state::Reader client = in.group(kPortServer);
  auto server = vfio_user::Server::adopt({.name = name(), .socket_path = config_.socket}, *loop_,
                                         {timers_, network_.clock}, *device_, memory_, interrupts_,
                                         client, descriptors);
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
                .linked = config_.connected});
  return {};
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
  if (Status good = in.status(); !good) return good;
  if (Status joined = join(std::move(doorbells)); !joined) return joined;
  state::Reader device = in.group(kPortDevice);
  device_->load(device);
  if (Status good = in.status(); !good) return good;
  set_connected(config_.connected);  // the guest may have seen another link
  return {};
}

}  // namespace paravane::worker
