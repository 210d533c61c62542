// LocalSwitches: creates the distributed switches in this process, and knows which interfaces
// belong to them.
//
// Blocks for a bounded time. One thread.

#pragma once

#include <vector>

#include "base/ipv4_interface.h"
#include "ethernet/link_news.h"
#include "privsep/switch_maker.h"

namespace paravane::keeper {

class LocalSwitches : public privsep::SwitchMaker {
 public:
  // The addresses of the VMkernel interfaces of the last plan.
  virtual std::vector<Ipv4Interface> addresses() const = 0;
  // Whose news may mean that the last plan is not made any more.
  virtual const ethernet::LinkFilter& about() const = 0;
};

}  // namespace paravane::keeper
