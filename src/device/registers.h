// Registers: BAR1 as the driver sees it. Only aligned 32-bit accesses count; any other access
// reads as zero and writes nothing. The effects of a write take place before the write is
// answered, so a driver that goes on to read guest memory (the shared region) or ERR finds them
// there.
//
// Owner thread only.

#pragma once

#include <array>
#include <cstdint>

#include "device/interrupt_lines.h"
#include "guestmem/guest_addr.h"

namespace paravane::device {

// What the registers set off. Each returns the new content of ERR.
class RegisterActions {
 public:
  virtual ~RegisterActions() = default;
  virtual std::uint32_t load_region(GuestAddr at) = 0;
  virtual std::uint32_t control(std::uint32_t value) = 0;
  virtual std::uint32_t request() = 0;
};

// Values of ERR: zero, or why not.
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

  // Everything but VERSION and the MAC address.
  void reset();

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
