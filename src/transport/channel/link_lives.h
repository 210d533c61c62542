// LinkLives identifies the two queue pairs that a link connects, as known to its requester.
//
// Plain value.

#pragma once

#include "verbs/life.h"

namespace paravane::transport_channel {

struct LinkLives {
  verbs::Life requester;
  verbs::Life responder;  // not known: the first link between the two
};

}  // namespace paravane::transport_channel
