// EstateLine carries what an engine leaves to the engine that replaces it: its locks, its listening
// sockets, and the saved state of each adapter with its descriptors. The engine that is replaced
// sends, its heir receives. The line is a socket pair that the keeper makes for each upgrade.
//
// Everything is sent as parcels (privsep/parcel.h), and the last packet says how many there were.
//
// One thread. Calls block until their deadline at the latest.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "privsep/parcel.h"

namespace paravane::privsep {

class EstateLine {
 public:
  static constexpr std::size_t kMaxParcels = 8192;

  static Result<std::array<UniqueFd, 2>> make() { return ParcelLine::make(); }

  explicit EstateLine(UniqueFd socket) : line_(std::move(socket)) {}

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
  // When the first of them had arrived. REQUIRES: receive() has returned one.
  Instant first_at() const { return first_at_; }

 private:
  ParcelLine line_;
  std::uint32_t sent_ = 0;
  Instant first_at_{};
};

}  // namespace paravane::privsep
