// Converts a completion of the RDMA engine to the element that the guest reads from a completion
// queue. Unused fields are zero. Some flags are understood only by the guest's kernel and would
// mislead a user program. They are set only if the kernel reads the queue.
//
// Stateless, any thread. Source: docs/device-spec.md, section 7.

#pragma once

#include "abi/completion.h"
#include "verbs/completion.h"

namespace paravane::device {

enum class Reader : std::uint8_t { kKernel, kUser };

abi::CqeOpcode cqe_opcode(verbs::WcOpcode opcode);
abi::Cqe make_cqe(const verbs::Completion& completion, Reader reader);

}  // namespace paravane::device
