// Server: presents one PciDevice to one VMM at a time over a vfio-user socket.
//
// It listens on a UNIX stream socket, negotiates, keeps config space, passes the DMA map to
// GuestMemory and the eventfds to Interrupts, and forwards BAR accesses to the device. A second
// client is refused at once. When the VMM disconnects, the device is reset, guest memory is
// unmapped and the server waits for the next VMM.
//
// Requests are served and answered one after the other, in the order in which they arrived: while
// a response is pending (PciDevice returned kLater), the next request waits. A device has at most
// one pending response at any time.
//
// In each turn, the worker must set the TurnClock and call TimerQueue::run_due() and
// EventLoop::poll(), with a timeout no longer than TimerQueue::next_deadline(): buffered requests
// have a timer that is due at once.
//
// Everything a client sends is checked; a malformed message ends that connection, never the
// daemon, with one log line that names the socket and the reason.
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
#include "base/timers.h"
#include "base/turn_clock.h"
#include "guestmem/guest_memory.h"
#include "vfio_user/counters.h"
#include "vfio_user/interrupts.h"
#include "vfio_user/pci_device.h"

namespace paravane::vfio_user {

struct ServerConfig {
  std::string name;  // for log lines: the VM's
  std::filesystem::path socket_path;
  // For VERSION, for an answer that the client does not read, and for the rest of
  // half a message.
  Duration handshake_timeout = std::chrono::seconds(5);
  unsigned messages_per_turn = 64;  // bound on what one client gets of a turn
  std::uint32_t socket_mode = 0660;
};

class Server {
 public:
  // Binds and listens. A stale socket file (without a listener) is replaced; a
  // live one is kBadState. Everything handed in must outlive the server.
  // Errors: kIo with the path and the reason (directory missing, not writable);
  // kInvalidArgument (the path is too long, the device's spec() cannot be).
  static Result<std::unique_ptr<Server>> listen(ServerConfig config, EventLoop& loop,
                                                TimerQueue& timers, const TurnClock& clock,
                                                PciDevice& device, GuestMemory& memory,
                                                Interrupts& interrupts);

  virtual ~Server() = default;  // disconnects and removes the socket file

  virtual bool attached() const = 0;
  // Of the attached VMM, from SO_PEERCRED; 0 when none.
  virtual int peer_pid() const = 0;
  virtual const ServerCounters& counters() const = 0;

  // Ends the connection as if the VMM had gone (quota, failed memory, forced
  // removal). `reason` goes to the log. It ends on the next turn, with
  // on_reset(kDisconnect), so a device may call this from anywhere.
  virtual void disconnect(const std::string& reason) = 0;

  // The answer that a device put off. Tokens that nothing is owed for are
  // ignored.
  virtual void answer(ReplyToken token) = 0;
};

}  // namespace paravane::vfio_user
