#include "vfio_user/server.h"

#include "vfio_user/server_impl.h"
#include "vfio_user/spec_check.h"

namespace paravane::vfio_user {

Result<std::unique_ptr<Server>> Server::listen(ServerConfig config, EventLoop& loop, TurnTime time,
                                               PciDevice& device, GuestMemory& memory,
                                               Interrupts& interrupts) {
  if (const Status spec = check_spec(device.spec()); !spec) return std::unexpected(spec.error());
  if (interrupts.vectors() != device.spec().msix.vectors) {
    return fail(Errc::kInvalidArgument, "MSI-X: the number of vectors does not match");
  }
  if (config.messages_per_turn == 0) {
    return fail(Errc::kInvalidArgument, "the number of messages per turn must not be 0");
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

}  // namespace paravane::vfio_user
