// Converts a completion of the engine to the element that the guest reads. Unused fields are zero.
// The flags depend on the reader: bits that only the guest kernel understands are never shown to a
// user program.

#pragma once

#include "abi/completion.h"
#include "verbs/completion.h"

namespace paravane::device {

enum class Reader : std::uint8_t { kKernel, kUser };

abi::CqeOpcode cqe_opcode(verbs::WcOpcode opcode);
abi::Cqe make_cqe(const verbs::Completion& completion, Reader reader);

}  // namespace paravane::device
