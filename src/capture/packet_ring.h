// PacketRing passes captured packets from the thread that captures them to the thread that reads
// them. It uses a buffer of fixed size, so neither thread waits for the other. Packets that do not
// fit are dropped and counted.
//
// One thread pushes packets. Only one thread at a time may take packets out.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace paravane::capture {

struct PacketInfo {
  std::uint64_t timestamp_ns = 0;  // since 1970, UTC
  std::uint32_t interface = 0;
  std::uint32_t original_bytes = 0;  // on the wire
  std::uint32_t kept_bytes = 0;
  bool is_outbound = false;
  std::uint64_t dropped_before = 0;  // since the interface's packet before; push() sets it
};

struct InterfaceCounts {
  std::uint64_t seen = 0;
  std::uint64_t dropped = 0;  // of them
};

class PacketRing {
 public:
  // REQUIRES: `bytes` is a power of two.
  PacketRing(std::size_t bytes, std::uint32_t interfaces);
  PacketRing(const PacketRing&) = delete;
  PacketRing& operator=(const PacketRing&) = delete;

  // ---- The pushing thread ---- Whether a packet could be pushed now if `kept_bytes` of it are
  // kept.
  bool has_room(std::size_t kept_bytes) const;
  // False: the packet does not fit; it is counted as dropped. REQUIRES: info.kept_bytes ==
  // packet.size().
  bool push(const PacketInfo& info, std::span<const std::byte> packet);
  // Counts packets that were not built because they would not fit.
  void count_dropped(std::uint32_t interface, std::uint64_t packets);

  // ---- The draining thread ---- Removes the oldest packet and copies its bytes to `packet`.
  // nullopt: the ring is empty.
  std::optional<PacketInfo> take(std::vector<std::byte>& packet);

  // ---- Any thread ----
  InterfaceCounts counts(std::uint32_t interface) const;

 private:
  struct Counts {
    std::atomic<std::uint64_t> seen{0};
    std::atomic<std::uint64_t> dropped{0};
    std::uint64_t dropped_before = 0;  // the newest packet; the pushing thread's
  };
  void copy_in(std::uint64_t at, std::span<const std::byte> bytes);
  void copy_out(std::uint64_t at, std::span<std::byte> bytes) const;

  std::vector<std::byte> buffer_;
  std::vector<Counts> counts_;  // by interface
  // The total bytes written and taken. They are in separate cache lines because two processors
  // write them.
  alignas(64) std::atomic<std::uint64_t> written_{0};
  alignas(64) std::atomic<std::uint64_t> taken_{0};
};

}  // namespace paravane::capture
