// EstateLine carries what an engine leaves to the engine that replaces it: its locks, its listening
// sockets, and the saved state of each adapter with its descriptors. The engine that is replaced
// sends, its heir receives. The line is a socket pair that the keeper makes for each upgrade.
//
// Everything is sent as parcels. The bytes of a parcel are a sealed file in memory, so they do not
// change under the reader, and a parcel that is refused costs no memory of the reader's. The last
// packet says how many parcels there were.
//
// The receiver does not trust the sender, which a guest may have taken over. All numbers are
// bounded, a packet of any other form is an error, and descriptors that came with an error are
// closed.
//
// One thread. Calls block until their deadline at the latest.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::privsep {

class Parcel {
 public:
  static constexpr std::size_t kMaxName = 255;
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;
  static constexpr std::size_t kMaxDescriptors = 1024;

  Parcel() = default;
  // `content`: a sealed file of `bytes` bytes; none if there are no bytes.
  Parcel(std::string name, UniqueFd content, std::uint64_t bytes)
      : name_(std::move(name)), content_(std::move(content)), bytes_(bytes) {}

  const std::string& name() const { return name_; }
  std::uint64_t bytes() const { return bytes_; }
  // Reads the bytes, each time anew. Errors: kIo.
  Result<std::vector<std::byte>> read() const;

  std::vector<UniqueFd> descriptors;  // the receiver's own

 private:
  std::string name_;
  UniqueFd content_;
  std::uint64_t bytes_ = 0;
};

class EstateLine {
 public:
  static constexpr std::size_t kMaxParcels = 8192;

  // The two sockets of a line. Errors: kIo.
  static Result<std::array<UniqueFd, 2>> make();

  explicit EstateLine(UniqueFd socket) : socket_(std::move(socket)) {}

  // ---- The engine that is replaced ----
  // The descriptors stay the caller's. REQUIRES: the limits of Parcel. Errors: kIo (the other side
  // has closed the line, or did not read in time), kResourceExhausted.
  Status send(std::string_view name, std::span<const std::byte> bytes,
              std::span<const int> descriptors, Instant deadline);
  // After the last parcel.
  Status end(Instant deadline);

  // ---- Its heir ----
  // All parcels, in their order. Errors: kIo (the line was closed, or nothing more arrived in
  // time), kInvalidArgument (what arrived breaks a rule), kResourceExhausted (descriptors ran out).
  Result<std::vector<Parcel>> receive(Instant deadline);

 private:
  Status send_packet(std::span<const std::byte> packet, std::span<const int> descriptors,
                     Instant deadline) const;
  struct Packet;
  Result<Packet> receive_packet(Instant deadline) const;
  Status wait(short events, Instant deadline) const;

  UniqueFd socket_;
  std::uint32_t sent_ = 0;
};

}  // namespace paravane::privsep
