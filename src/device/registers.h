// Registers: the registers in BAR1 of the device. Only aligned 32-bit accesses are accepted. Any
// other read returns zero, and any other write is ignored.
//
// A write takes effect before it is answered. A driver that then reads the register ERR, or the
// shared region in guest memory, therefore finds the result there.
//
// Owner thread only. Source: docs/device-spec.md, section 2.

#pragma once

#include <array>
#include <cstdint>

#include "device/interrupt_lines.h"
#include "guestmem/guest_addr.h"
#include "state/reader.h"
#include "state/writer.h"

namespace paravane::device {

// RegisterActions: the actions that a write to a register starts. Each returns the new value of the
// register ERR.
class RegisterActions {
 public:
  virtual ~RegisterActions() = default;
  virtual std::uint32_t load_region(GuestAddr at) = 0;
  virtual std::uint32_t control(std::uint32_t value) = 0;
  virtual std::uint32_t request() = 0;
};

// The values of the register ERR. Zero means success, and any other value is the reason for a
// failure.
enum RegisterError : std::uint32_t {
  kErrorNone = 0,
  kErrorNoDevice = 6,  // not active
  kErrorBadAddress = 14,
  kErrorInvalid = 22,
  kErrorUnsupported = 95,
  kErrorAtReset = 0xFFFF,
};

class Registers {
 public:
  Registers(std::uint32_t version, const std::array<std::uint8_t, 6>& mac, InterruptLines& lines,
            RegisterActions& actions);

  std::uint32_t read(std::uint64_t offset);
  void write(std::uint64_t offset, std::uint32_t value);

  std::uint32_t error() const { return error_; }  // ERR
  void set_error(std::uint32_t error) { error_ = error; }

  // Resets all registers except VERSION and the MAC address.
  void reset();

  // (docs/state.md)
  void save(state::Writer& out) const;
  void load(state::Reader& in);

 private:
  InterruptLines& lines_;
  RegisterActions& actions_;
  const std::uint32_t version_;
  std::uint32_t dsr_low_ = 0;
  std::uint32_t error_ = kErrorAtReset;
  std::uint32_t mac_low_;
  std::uint32_t mac_high_;
};

}  // namespace paravane::device
