// The checks before an operator promotes this host to be the cluster's authority. A promotion
// cannot be undone once it is complete.
//
// The current time becomes the promotion's term, the number that orders promotions. This host's
// clock must therefore be plausible, and it must agree with the clocks of most of the hosts that
// respond. The promotion is also refused if any host that responds reports that the old authority
// is still running.
//
// A host with version 0.1.0 does not respond. A host that lies can delay a promotion but cannot
// cause one.
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

// `certificate`: the validity of this host's certificate. `made`: the time at which the backup was
// made.
model::ApiResult<void> check_own_clock(const authority::Validity& certificate,
                                       authority::Seconds made, authority::Seconds now);

// `answers`: the responses that have just come from `doors`, in the same order. `authority`: the
// host that is to be replaced.
model::ApiResult<void> check_answers(const std::string& authority,
                                     const std::vector<HostDoor>& doors,
                                     const std::vector<Result<authority::DoorAnswer>>& answers,
                                     authority::Seconds now);

}  // namespace paravane::cluster
