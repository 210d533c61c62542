// Session decides which requests a client may send, and calls the code that handles each.
//
// VERSION must come first. After it, requests may come in any order (QEMU maps memory before it
// asks for the device's properties). If a client cannot be served, its VERSION request is refused
// and the connection ends. If a later request is refused, the client gets an error response and the
// connection continues.
//
// Owner thread only.

#pragma once

#include <optional>
#include <string>

#include "guestmem/guest_memory.h"
#include "state/reader.h"
#include "state/writer.h"
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

  // Handles a request and fills `reply`, which is cleared first, unless the request is refused.
  Handled handle(Request& request, Reply& reply, ReplyToken token);

  bool negotiated() const { return negotiated_; }
  // Set if the client must be disconnected after its response; the text is the reason.
  const std::optional<std::string>& farewell() const { return farewell_; }
  // The reason for the last refusal; may be empty.
  const std::string& why() const { return why_; }
  bool memory_is_private() const { return dma_.memory_is_private(); }

  // What the client said of itself. REQUIRES: negotiated().
  void save(state::Writer& out) const;
  // As after VERSION.
  void load(state::Reader& in);

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
