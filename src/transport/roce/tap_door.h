// TapDoor reads and writes Ethernet frames through the descriptor of a tap. A frame may hold many
// packets of one flow, which the kernel cuts apart (USO) on the way to whatever cannot take it
// whole.
//
// The descriptor comes from the keeper. Each frame of a tap that takes superframes follows a
// virtio-net header of 10 bytes; other taps have none (ethernet/offload_tap.h says why). Only
// read() and write() are called. Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/counter.h"
#include "base/unique_fd.h"
#include "transport/roce/frame_door.h"

namespace paravane::transport_roce {

struct TapCounters {
  CounterSet set;
  Counter frames_received{set, "frames_received", "frames read from the RoCE port"};
  Counter frames_sent{set, "frames_sent", "frames written to the RoCE port"};
  Counter unknown_offloads{set, "unknown_offloads", "frames read with an offload that is not UDP"};
  Counter frames_lost{set, "frames_lost", "frames that the RoCE port refused"};
};

class TapDoor final : public FrameDoor {
 public:
  // `tap`: non-blocking. `takes_superframes`: whether the kernel cuts UDP apart (Linux 6.2). `mtu`:
  // of the tap's network.
  TapDoor(UniqueFd tap, bool takes_superframes, std::uint32_t mtu);

  // To be watched for input.
  int fd() const { return tap_.get(); }
  const TapCounters& counters() const { return counters_; }

  // ---- FrameDoor ----
  std::optional<Received> receive() override;
  bool send(const wire::roce::SuperframeWriter::Whole& whole) override;
  std::uint32_t mtu() const override { return mtu_; }
  std::size_t most_packets() const override { return takes_superframes_ ? kMostPackets : 1; }

 private:
  static constexpr std::size_t kMostPackets = 64;  // UDP_MAX_SEGMENTS of Linux before 6.10

  UniqueFd tap_;
  const bool takes_superframes_;
  const std::size_t header_bytes_;
  const std::uint32_t mtu_;
  std::vector<std::byte> received_;
  TapCounters counters_;
};

}  // namespace paravane::transport_roce
