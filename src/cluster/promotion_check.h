// The checks before a promotion, which cannot be undone once it is complete: that this host's clock
// can be right, because the promotion's term is the time; and that, by the answers of the other
// hosts, none of them sees the authority's host run and most of their clocks agree with this one.
//
// A host of 0.1.0 has no door and gives no answer. A host that lies can delay a promotion, but
// cannot cause one.
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
