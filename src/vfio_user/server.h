// Server: shows one PciDevice to one VMM at a time over a vfio-user socket.
//
// It listens on a unix stream socket, negotiates, keeps config space, feeds the
// DMA map into GuestMemory and the eventfds into Interrupts, and hands BAR
// accesses to the device. A second client is refused at once. When the VMM goes
// away the device is reset, guest memory is unmapped and the server waits for
// the next one.
//
// Everything a client sends is checked; a broken message ends that connection
// with one log line that names the socket and the reason, never the daemon.
//
// Owner thread only. docs/vfio-user.md describes the protocol with an example.

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/counter.h"
#include "base/event_loop.h"
#include "base/instant.h"
#include "base/result.h"
#include "base/timers.h"
#include "guestmem/guest_memory.h"
#include "vfio_user/interrupts.h"
#include "vfio_user/pci_device.h"

namespace paravane::vfio_user {

struct ServerConfig {
  std::string name;  // for log lines: the VM's
  std::filesystem::path socket_path;
  Duration handshake_timeout = std::chrono::seconds(5);
  unsigned messages_per_turn = 64;  // bound on what one client gets of a turn
};

struct ServerCounters {
  CounterSet set;
  Counter messages{set, "vfio_user_messages", "vfio-user messages received"};
  Counter bar_reads{set, "bar_reads", "trapped BAR reads"};
  Counter bar_writes{set, "bar_writes", "trapped BAR writes"};
  Counter posted_writes{set, "posted_writes", "BAR writes that the VMM did not wait for"};
  Counter config_accesses{set, "config_accesses", "config space reads and writes"};
  Counter dma_maps{set, "dma_maps", "DMA ranges mapped"};
  Counter dma_unmaps{set, "dma_unmaps", "DMA ranges unmapped"};
  Counter dma_map_errors{set, "dma_map_errors", "DMA ranges that could not be mapped"};
  Counter protocol_errors{set, "protocol_errors", "requests refused with an error"};
  Counter broken_connections{set, "broken_connections", "connections ended for a broken message"};
  Counter refused_clients{set, "refused_clients", "clients refused while another was attached"};
  Counter attaches{set, "attaches", "VMMs that attached"};
  Counter resets{set, "device_resets", "device resets by the VMM or the guest"};
};

class Server {
 public:
  // Binds and listens. A stale socket file (nobody listens) is replaced; a
  // live one is kBadState. Everything handed in must outlive the server.
  // Errors: kIo with the path and the reason (directory missing, not writable).
  static Result<std::unique_ptr<Server>> listen(ServerConfig config, EventLoop& loop,
                                                TimerQueue& timers, PciDevice& device,
                                                GuestMemory& memory, Interrupts& interrupts);

  virtual ~Server() = default;  // disconnects and removes the socket file

  virtual bool attached() const = 0;
  // Of the attached VMM, from SO_PEERCRED; 0 when none.
  virtual int peer_pid() const = 0;
  virtual const ServerCounters& counters() const = 0;

  // Ends the connection as if the VMM had gone (quota, failed memory, forced
  // removal). `reason` goes to the log.
  virtual void disconnect(const std::string& reason) = 0;

  // The answer that a device put off.
  virtual void answer(ReplyToken token) = 0;

  // The time for handshake limits and rate-limited log lines; call each turn.
  virtual void set_now(Instant now) = 0;
};

}  // namespace paravane::vfio_user
