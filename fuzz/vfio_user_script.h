// What a hostile VMM does, as a string of bytes: the input of vfio_user_fuzz. The
// reader takes any bytes; the writer is for seeds.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "vfio_user/protocol.h"

namespace paravane {

enum class VmmAct : std::uint8_t {
  kMessage,      // command, flags, descriptors, length, payload: well framed
  kRawBytes,     // length, bytes: anything
  kTurn,         // the server works
  kAnswer,       // the device gives the answer it owes
  kDefer,        // mask: which answers the device puts off from now on
  kSignal,       // the device fires a vector
  kPassTime,     // milliseconds, 16 bits
  kReconnect,    // the VMM goes and comes again
  kSecondComes,  // another VMM tries
  kDisconnect,   // the operator ends it
  kHandOver,     // another process goes on with the server
  kCount,
};

enum class FdKind : std::uint8_t { kEventfd, kMemory, kPipe, kSocket, kDirectory, kCount };

class ScriptReader {
 public:
  explicit ScriptReader(std::span<const std::byte> bytes) : rest_(bytes) {}
  bool at_end() const { return rest_.empty(); }
  std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::span<const std::byte> bytes(std::size_t count) {
    const auto taken = rest_.first(std::min(count, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  VmmAct act() { return static_cast<VmmAct>(u8() % static_cast<std::uint8_t>(VmmAct::kCount)); }

 private:
  std::uint64_t number(std::size_t size) {
    std::uint64_t value = 0;
    const auto taken = bytes(size);
    std::memcpy(&value, taken.data(), taken.size());
    return value;
  }
  std::span<const std::byte> rest_;
};

class ScriptWriter {
 public:
  // The first byte of a script: is VERSION exchanged before it starts?
  explicit ScriptWriter(bool negotiated = true) { u8(negotiated ? 1 : 0); }

  void act(VmmAct what) { u8(static_cast<std::uint8_t>(what)); }
  void act(VmmAct what, std::uint8_t argument) {
    act(what);
    u8(argument);
  }
  void message(vfio_user::Command command, std::span<const std::byte> payload,
               std::uint8_t flags = 0, std::uint8_t fds = 0, FdKind kind = FdKind::kEventfd) {
    act(VmmAct::kMessage, static_cast<std::uint8_t>(command));
    u8(flags);
    u8(fds);
    u8(static_cast<std::uint8_t>(kind));
    u16(static_cast<std::uint16_t>(payload.size()));
    bytes_.insert(bytes_.end(), payload.begin(), payload.end());
    act(VmmAct::kTurn);
  }
  template <typename T>
  void message_of(vfio_user::Command command, const T& payload, std::uint8_t flags = 0,
                  std::uint8_t fds = 0, FdKind kind = FdKind::kEventfd) {
    message(command, std::as_bytes(std::span(&payload, 1)), flags, fds, kind);
  }
  void raw(std::span<const std::byte> data) {
    act(VmmAct::kRawBytes, static_cast<std::uint8_t>(data.size()));
    bytes_.insert(bytes_.end(), data.begin(), data.end());
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  void u8(std::uint8_t value) { bytes_.push_back(std::byte{value}); }
  void u16(std::uint16_t value) {
    u8(static_cast<std::uint8_t>(value));
    u8(static_cast<std::uint8_t>(value >> 8));
  }
  std::vector<std::byte> bytes_;
};

}  // namespace paravane
