#include "device/registers.h"

#include "abi/registers.h"

namespace paravane::device {

Registers::Registers(std::uint32_t version, const std::array<std::uint8_t, 6>& mac,
                     InterruptLines& lines, RegisterActions& actions)
    : lines_(lines),
      actions_(actions),
      version_(version),
      mac_low_(std::uint32_t{mac[0]} | std::uint32_t{mac[1]} << 8 | std::uint32_t{mac[2]} << 16 |
               std::uint32_t{mac[3]} << 24),
      mac_high_(std::uint32_t{mac[4]} | std::uint32_t{mac[5]} << 8) {}

std::uint32_t Registers::read(std::uint64_t offset) {
  switch (offset) {
    case abi::kRegVersion: return version_;
    case abi::kRegError: return error_;
    case abi::kRegInterruptCause: return lines_.take_causes();
    case abi::kRegInterruptMask: return lines_.mask();
    case abi::kRegMacLow: return mac_low_;
    case abi::kRegMacHigh: return mac_high_;
    default: return 0;
  }
}

void Registers::write(std::uint64_t offset, std::uint32_t value) {
  switch (offset) {
    case abi::kRegDsrLow: dsr_low_ = value; break;
    case abi::kRegDsrHigh: {
      const GuestAddr at{std::uint64_t{value} << 32 | dsr_low_};
      error_ = actions_.load_region(at);
      break;
    }
    case abi::kRegControl: error_ = actions_.control(value); break;
    case abi::kRegRequest: error_ = actions_.request(); break;
    case abi::kRegInterruptMask: lines_.set_mask(value); break;
    case abi::kRegMacLow: mac_low_ = value; break;
    case abi::kRegMacHigh: mac_high_ = value & 0xFFFF; break;
    default: break;
  }
}

void Registers::reset() {
  dsr_low_ = 0;
  error_ = kErrorAtReset;
  lines_.reset();
}

}  // namespace paravane::device
