// Server presents one PciDevice to one VMM at a time over a vfio-user socket.
//
// It listens on a UNIX stream socket, negotiates the protocol version, keeps configuration space,
// passes the DMA map to GuestMemory and the eventfds to Interrupts, and forwards BAR accesses to
// the device. A second client is refused at once. When the VMM disconnects, the server resets the
// device, unmaps guest memory and waits for the next VMM.
//
// Requests are answered one after the other, in the order in which they arrived. When PciDevice
// returns kLater, the response is pending and the next request waits. A device therefore has at
// most one pending response.
//
// In each turn (time slice), the worker must set the TurnClock and call TimerQueue::run_due() and
// EventLoop::poll(). The timeout of poll() must not extend beyond TimerQueue::next_deadline(),
// because buffered requests have a timer that is due at once.
//
// Everything that a client sends is checked. A malformed message ends only that connection, with
// one log line that names the socket and the reason.
//
// A server can be handed to another process, and the VMM does not notice: the same sockets go on
// there. The process before calls save() between two turns, and takes no further turn until the
// other has adopted the state or refused it. Then either it goes on, or it ends: it abandons the
// server, or is killed. The order in which the other process loads is: GuestMemory, Interrupts, the
// device, the server. Only if attached() do the first three have anything to save; otherwise they
// begin as new ones there.
//
// Owner thread only. docs/vfio-user.md describes the protocol with an example.

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/event_loop.h"
#include "base/instant.h"
#include "base/result.h"
#include "base/turn_time.h"
#include "guestmem/guest_memory.h"
#include "state/descriptors.h"
#include "state/reader.h"
#include "state/writer.h"
#include "vfio_user/counters.h"
#include "vfio_user/exchange.h"
#include "vfio_user/interrupts.h"
#include "vfio_user/pci_device.h"

namespace paravane::vfio_user {

// What a VMM has attached, and the request that is in hand, are kept elsewhere, so that the VMM
// stays connected when this process is killed.
class AttachmentKeeper {
 public:
  virtual ~AttachmentKeeper() = default;
  // What is attached has changed, or nothing is. Called before the response that says so; calls
  // Server::keep(). The VMM is not told of a failure; it is lost then, as if nothing were kept.
  virtual void keep_attachment() = 0;
};

struct Keeping {
  Exchange* exchange = nullptr;  // both or none; they outlive the server
  AttachmentKeeper* keeper = nullptr;
};

struct ServerConfig {
  std::string name;  // for log lines: the VM's
  std::filesystem::path socket_path;
  // The time limit for VERSION, for a response that the client does not read, and for completing a
  // message.
  Duration handshake_timeout = std::chrono::seconds(5);
  unsigned messages_per_turn = 64;  // the limit for one client in a turn
  std::uint32_t socket_mode = 0660;
  Keeping keeping{};
  bool leaves_client_out = false;  // adopt() disconnects the client of the state
};

class Server {
 public:
  // Binds and listens. Replaces a stale socket file (without a listener). All arguments must
  // outlive the server. Errors: kIo with the path and the reason (directory missing, not writable);
  // kBadState (another process listens there); kInvalidArgument (the path is too long, or the
  // device's spec() is invalid).
  static Result<std::unique_ptr<Server>> listen(ServerConfig config, EventLoop& loop, TurnTime time,
                                                PciDevice& device, GuestMemory& memory,
                                                Interrupts& interrupts);

  // Takes over what save() has written in another process, or keep() in one that was killed. Then
  // the exchange of `config` is that of the other process, and the request that was in hand is
  // answered once. Calls nothing of the device, and reads and sends nothing before the next turn.
  // The socket file is this server's from now on. Time limits and counters start anew. `in` is a
  // group with nothing but the server. REQUIRES: `memory` and `interrupts`, and the device, have
  // been loaded from the same state. Errors: kInvalidArgument (the state is refused, and `in` says
  // why; or as for listen()); kIo. After an error the state's sockets are closed, the socket file
  // stays, and the device, `memory` and `interrupts` are as before.
  static Result<std::unique_ptr<Server>> adopt(ServerConfig config, EventLoop& loop, TurnTime time,
                                               PciDevice& device, GuestMemory& memory,
                                               Interrupts& interrupts, state::Reader& in,
                                               state::Descriptors& descriptors);

  virtual ~Server() = default;  // disconnects and removes the socket file

  // The listening socket, and the client with all that has not been answered. Left out is a client
  // that is to be refused or that has been, and one that ends before VERSION: their connections
  // close with this process. If a VMM has gone and the device still has its memory, there is no
  // client either, and the device of the other process begins anew. A VMM that disconnect() was
  // called for is saved, and ends in the other process. A response that the device has deferred is
  // given there, with the same token. REQUIRES: no turn is running.
  virtual void save(state::Writer& out, state::Descriptors& descriptors) const = 0;

  // What another process needs to adopt the server if this one is killed. REQUIRES:
  // keep_attachment() is running.
  virtual void keep(state::Writer& out, state::Descriptors& descriptors) const = 0;

  // Closes this process's copies of all sockets after another process has adopted them. The VMM
  // sees nothing of it. The device is not reset, and the socket file stays. Afterwards the server
  // does nothing any more; destroy it. Clients that were to be refused are disconnected.
  virtual void abandon() = 0;

  virtual bool attached() const = 0;
  // Whether the guest goes on with a function that it has not configured, because its VMM has
  // loaded a state without that of the function (lost_configuration.h). It becomes true in a
  // timer's turn, and false when the function is configured, reset or has no VMM.
  virtual bool configuration_lost() const = 0;
  // The process id of the attached VMM, from SO_PEERCRED; 0: none.
  virtual int peer_pid() const = 0;
  virtual const ServerCounters& counters() const = 0;

  // Ends the connection as if the VMM had disconnected (for a quota, failed memory or forced
  // removal), and logs `reason`. The connection ends in the next turn, with on_reset(kDisconnect),
  // so a device may call this at any time.
  virtual void disconnect(const std::string& reason) = 0;

  // Sends the response that a device deferred. Tokens without a pending response are ignored.
  virtual void answer(ReplyToken token) = 0;
};

}  // namespace paravane::vfio_user
