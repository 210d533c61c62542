// What is saved of a queue pair's requests and attributes (docs/state.md).
//
// Stateless, any thread.

#pragma once

#include "state/reader.h"
#include "state/writer.h"
#include "verbs/connection.h"
#include "verbs/gid_table.h"
#include "verbs/qp_attributes.h"
#include "verbs/work_request.h"

namespace paravane::verbs {

void save(const SendRequest& request, state::Writer& out);
void load(state::Reader& in, SendRequest& request);

void save(const ReceiveRequest& request, state::Writer& out);
void load(state::Reader& in, ReceiveRequest& request);

void save(const AddressVector& av, state::Writer& out);
AddressVector load_address_vector(state::Reader& in);

void save(const BoundGid& gid, state::Writer& out);
BoundGid load_bound_gid(state::Reader& in);

void save(const QpAttributes& attributes, state::Writer& out);
// Within the bounds of QueuePair::modify(), or as in RESET.
QpAttributes load_attributes(state::Reader& in);

}  // namespace paravane::verbs
