// Session: which requests a client may send, and which code answers them.
//
// VERSION must come first; after it, anything in any order (QEMU maps memory before it asks what
// the device is). A client that cannot be served is refused at VERSION; every later refusal is an
// error response, and the connection continues.
//
// Owner thread only.

#pragma once

#include <optional>
#include <string>

#include "guestmem/guest_memory.h"
#include "vfio_user/counters.h"
#include "vfio_user/dma.h"
#include "vfio_user/function.h"
#include "vfio_user/irqs.h"
#include "vfio_user/message.h"
#include "vfio_user/regions.h"

namespace paravane::vfio_user {

class Session {
 public:
  // All must outlive it.
  struct Parts {
    Function& function;
    GuestMemory& memory;
    Interrupts& interrupts;
    ServerCounters& counters;
  };
  explicit Session(const Parts& parts);

  // Fills `reply` (which is cleared) unless it refuses.
  Handled handle(Request& request, Reply& reply, ReplyToken token);

  bool negotiated() const { return negotiated_; }
  // Set when the client has to go after its answer.
  const std::optional<std::string>& farewell() const { return farewell_; }
  // What the last refusal was about; may be empty.
  const std::string& why() const { return why_; }
  bool memory_is_private() const { return dma_.memory_is_private(); }

 private:
  Handled introduce(const Request& request, Reply& reply);
  Handled version(const Request& request, Reply& reply);
  Handled get_info(const Request& request, Reply& reply) const;
  Handled serve(Request& request, Reply& reply, ReplyToken token);

  Function& function_;
  Regions regions_;
  Dma dma_;
  Irqs irqs_;
  bool negotiated_ = false;
  std::optional<std::string> farewell_;
  std::string why_;
};

}  // namespace paravane::vfio_user
