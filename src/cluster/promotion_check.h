// The checks before a promotion, which cannot be undone once it is complete. This host's clock must
// be plausible, because the promotion's term is the time. No other host that answers may see the
// authority's host running, and most of their clocks must agree with this host's clock.
//
// A host with version 0.1.0 has no join endpoint and does not answer. A host that lies can delay a
// promotion, but cannot cause one.
//
// Stateless, any thread. Errors: kDenied.

#pragma once

#include <string>
#include <vector>

#include "authority/certificate.h"
#include "authority/door_message.h"
#include "base/result.h"
#include "cluster/door_round.h"
#include "model/api_error.h"

namespace paravane::cluster {

// `certificate`: when this host's is in force. `made`: of the backup.
model::ApiResult<void> check_own_clock(const authority::Validity& certificate,
                                       authority::Seconds made, authority::Seconds now);

// `answers` of `doors`, in order, just now. `authority`: the host that is to be replaced.
model::ApiResult<void> check_answers(const std::string& authority,
                                     const std::vector<HostDoor>& doors,
                                     const std::vector<Result<authority::DoorAnswer>>& answers,
                                     authority::Seconds now);

}  // namespace paravane::cluster
