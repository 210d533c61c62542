// RocePortNote: what the keeper (the privileged process) says of a RoCE port whose descriptor comes
// with the message. As text it is "VM NUMBER MAKING MTU superframes" or "... packets".
//
// Plain values; any thread.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/adapter_name.h"

namespace paravane::privsep {

struct RocePortNote {
  model::AdapterName adapter;
  std::uint32_t making = 0;        // as in the plan that it was opened for
  std::uint32_t mtu = 1500;        // of the port's network, in bytes
  bool takes_superframes = false;  // the kernel cuts UDP apart; frames have a vnet header

  friend bool operator==(const RocePortNote&, const RocePortNote&) = default;
};

std::string print(const RocePortNote& note);
// Errors: kInvalidArgument.
Result<RocePortNote> parse_roce_port_note(std::string_view text);

}  // namespace paravane::privsep
