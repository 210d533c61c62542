// Irqs handles the requests GET_IRQ_INFO and SET_IRQS, for a function that has MSI-X interrupts
// only.
//
// The VMM keeps the MSI-X table. With SET_IRQS, it passes an eventfd for each vector. It can
// replace an eventfd at any time. A SET_IRQS request has one of these effects:
//
//   trigger, no data, count 0        detach every vector
//   trigger, eventfds                attach them to start, start+1, ...
//   trigger, eventfds but none given detach [start, start+count)
//   trigger, no data or bools        fire these vectors
//
// The error index accepts an eventfd but never signals it, because a VMM would stop the whole VM.
// The indices of INTx, MSI and device requests have no vectors.
//
// Owner thread only.

#pragma once

#include "vfio_user/interrupts.h"
#include "vfio_user/message.h"

namespace paravane::vfio_user {

class Irqs {
 public:
  explicit Irqs(Interrupts& interrupts) : interrupts_(interrupts) {}

  Handled info(const Request& request, Reply& reply) const;
  Handled set(Request& request);

 private:
  std::uint32_t vectors_of(IrqIndex index) const;
  Handled set_msix(const SetIrqs& set, Request& request);
  Handled attach(const SetIrqs& set, std::vector<UniqueFd>& fds);
  void fire(const SetIrqs& set, std::span<const std::byte> which);

  Interrupts& interrupts_;
};

}  // namespace paravane::vfio_user
