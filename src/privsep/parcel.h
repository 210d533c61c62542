// Parcel is a name, bytes, and descriptors, on their way from one process of the daemon to another.
// ParcelLine carries parcels over a socket.
//
// The bytes of a parcel are a sealed file in memory, so they do not change under the reader, and a
// parcel that is refused costs no memory of the reader's.
//
// The receiver does not trust the sender, which a guest may have taken over. All numbers are
// bounded, a packet of any other form is an error, and descriptors that came with an error are
// closed.
//
// One thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
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
  // No record of a state is longer. The receiver has its own bound for what it reads.
  static constexpr std::uint64_t kMaxBytes = UINT32_MAX;
  static constexpr std::size_t kMaxDescriptors = 1024;

  Parcel() = default;
  // `content`: a sealed file of `bytes` bytes; none if there are no bytes.
  Parcel(std::string name, UniqueFd content, std::uint64_t bytes)
      : name_(std::move(name)), content_(std::move(content)), bytes_(bytes) {}

  const std::string& name() const { return name_; }
  std::uint64_t bytes() const { return bytes_; }
  // Of the bytes; -1: there are none.
  int content() const { return content_.get(); }
  // Reads the bytes, each time anew. Errors: kIo.
  Result<std::vector<std::byte>> read() const;

  std::vector<UniqueFd> descriptors;  // the receiver's own

 private:
  std::string name_;
  UniqueFd content_;
  std::uint64_t bytes_ = 0;
};

class ParcelLine {
 public:
  // The two sockets of a line. Errors: kIo.
  static Result<std::array<UniqueFd, 2>> make();

  explicit ParcelLine(UniqueFd socket) : socket_(std::move(socket)) {}
  int fd() const { return socket_.get(); }

  // ---- Sent ----
  // These wait until their deadline at the latest. The descriptors stay the caller's. After an
  // error the line cannot be used any more. REQUIRES: the limits of Parcel. Errors: kIo (the other
  // side has closed the line, or did not read in time), kResourceExhausted (one that says so of the
  // parcel itself has sent nothing).
  Status send(std::string_view name, std::span<const std::byte> bytes,
              std::span<const int> descriptors, Instant deadline);
  Status send(const Parcel& parcel, Instant deadline);
  // So many parcels were sent, and this is the last word.
  Status end(std::uint32_t parcels, Instant deadline);

  // ---- Received ----
  struct News {
    std::optional<Parcel> parcel{};
    std::optional<std::uint32_t> end{};  // how many parcels there were
  };
  // Does not wait. nullopt: no more arrived yet. Errors: kIo (the line was closed),
  // kInvalidArgument (what arrived breaks a rule), kResourceExhausted (descriptors ran out).
  Result<std::optional<News>> receive();
  // Waits until there may be news. Errors: kIo (nothing arrived in time).
  Status wait_for_news(Instant deadline) const;

 private:
  Status send_parcel(std::string_view name, int content, std::uint64_t bytes,
                     std::span<const int> descriptors, Instant deadline) const;
  Status send_packet(std::span<const std::byte> packet, std::span<const int> descriptors,
                     Instant deadline) const;
  struct Packet;
  Result<std::optional<Packet>> receive_packet() const;
  Result<std::optional<News>> take(Packet packet);
  Status begin_parcel(Packet packet);
  Status wait(short events, Instant deadline) const;

  UniqueFd socket_;
  std::optional<Parcel> arriving_;
  std::size_t missing_ = 0;  // descriptors of it
};

}  // namespace paravane::privsep
