// TurnBudget: how much a server may do in one turn, so that the thread's other work waits for a
// short time only. One act may exceed what is left, by a bounded amount.
//
// Owner thread only.

#pragma once

#include <cstddef>
#include <cstdint>

namespace paravane::nbd {

struct TurnBudget {
  std::int64_t bytes = 0;
  std::int32_t operations = 0;

  bool is_spent() const { return bytes <= 0 || operations <= 0; }
  // One call of the kernel, or one request, with so many bytes.
  void spend(std::size_t used_bytes) {
    bytes -= static_cast<std::int64_t>(used_bytes);
    --operations;
  }
};

}  // namespace paravane::nbd
