// What is looked at before a host is promoted, since nothing takes a promotion back: whether its
// clock can be right, for its term is the time; and what the other hosts answer: whether one of
// them sees the host that has the authority, and what their clocks say.
//
// A host of 0.1.0 has no door, and says nothing of this. A host that lies can hold a promotion up,
// not bring one about.
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
