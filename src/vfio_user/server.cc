#include "vfio_user/server.h"

#include <optional>
#include <utility>

#include "base/undo.h"
#include "vfio_user/server_impl.h"
#include "vfio_user/spec_check.h"

namespace paravane::vfio_user {
namespace {

Status check(const ServerConfig& config, const PciDevice& device, const Interrupts& interrupts) {
  if (Status spec = check_spec(device.spec()); !spec) return spec;
  if (interrupts.vectors() != device.spec().msix.vectors) {
    return fail(Errc::kInvalidArgument, "MSI-X: the number of vectors does not match");
  }
  if (config.messages_per_turn == 0) {
    return fail(Errc::kInvalidArgument, "the number of messages per turn must not be 0");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Server>> Server::listen(ServerConfig config, EventLoop& loop, TurnTime time,
                                               PciDevice& device, GuestMemory& memory,
                                               Interrupts& interrupts) {
  if (const Status good = check(config, device, interrupts); !good) {
    return std::unexpected(good.error());
  }
  Result<Listener> listener = Listener::bind(config.socket_path, config.socket_mode);
  if (!listener) return std::unexpected(listener.error());
  auto server = std::make_unique<ServerImpl>(std::move(config), std::move(*listener),
                                             ServerImpl::Parts{.loop = loop,
                                                               .timers = time.timers,
                                                               .clock = time.clock,
                                                               .device = device,
                                                               .memory = memory,
                                                               .interrupts = interrupts});
  if (const Status started = server->start(); !started) return std::unexpected(started.error());
  return server;
}

// Until all is well, whatever ends here must not end the VMM's connection or the socket file.
Result<std::unique_ptr<Server>> Server::adopt(ServerConfig config, EventLoop& loop, TurnTime time,
                                              PciDevice& device, GuestMemory& memory,
                                              Interrupts& interrupts, state::Reader& in,
                                              state::Descriptors& descriptors) {
  if (const Status good = check(config, device, interrupts); !good) {
    return std::unexpected(good.error());
  }
  state::Reader listening = in.group(ServerImpl::kListener);
  std::optional<Listener> listener = Listener::load(listening, descriptors, config.socket_path);
  if (!listener) return std::unexpected(in.status().error());
  Undo close([&] { listener->abandon(); });
  auto server = std::make_unique<ServerImpl>(std::move(config), std::move(*listener),
                                             ServerImpl::Parts{.loop = loop,
                                                               .timers = time.timers,
                                                               .clock = time.clock,
                                                               .device = device,
                                                               .memory = memory,
                                                               .interrupts = interrupts});
  Undo abandon([&] { server->abandon(); });
  if (const Status adopted = server->adopt(in, descriptors); !adopted) {
    return std::unexpected(adopted.error());
  }
  abandon.keep();
  close.keep();
  return server;
}

}  // namespace paravane::vfio_user
