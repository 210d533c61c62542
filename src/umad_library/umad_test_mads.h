// MADs and buffers for the tests of the library.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "umad_library/umad_abi.h"

namespace paravane::umad_library {

inline std::vector<std::byte> test_mad(std::uint8_t management_class, std::uint8_t method,
                                       std::uint8_t transaction, std::size_t size = 256) {
  std::vector<std::byte> mad(size);
  for (std::size_t i = 24; i < size; ++i) mad[i] = static_cast<std::byte>(i * 7 + i / 256);
  mad[0] = std::byte{1};
  mad[1] = std::byte{management_class};
  mad[3] = std::byte{method};
  mad[15] = std::byte{transaction};
  return mad;
}

// What a program gives to umad_send() and umad_recv().
class UmadBuffer {
 public:
  explicit UmadBuffer(std::size_t room) : bytes_(sizeof(ib_user_mad) + room) {}
  explicit UmadBuffer(const std::vector<std::byte>& mad) : UmadBuffer(mad.size()) {
    std::memcpy(umad_get_mad(get()), mad.data(), mad.size());
  }
  void* get() { return bytes_.data(); }
  ib_user_mad& header() { return *reinterpret_cast<ib_user_mad*>(bytes_.data()); }
  std::vector<std::byte> mad(int length) {
    return {bytes_.begin() + sizeof(ib_user_mad), bytes_.begin() + sizeof(ib_user_mad) + length};
  }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace paravane::umad_library
