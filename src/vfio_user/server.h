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
#include "vfio_user/counters.h"
#include "vfio_user/interrupts.h"
#include "vfio_user/pci_device.h"

namespace paravane::vfio_user {

struct ServerConfig {
  std::string name;  // for log lines: the VM's
  std::filesystem::path socket_path;
  // The time limit for VERSION, for a response that the client does not read, and for completing a
  // message.
  Duration handshake_timeout = std::chrono::seconds(5);
  unsigned messages_per_turn = 64;  // the limit for one client in a turn
  std::uint32_t socket_mode = 0660;
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

  virtual ~Server() = default;  // disconnects and removes the socket file

  virtual bool attached() const = 0;
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
