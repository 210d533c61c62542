// Compares the documents that etcd stores below config/ with the data of the cluster's authority,
// the host that admits members. The documents describe the members, switches and port groups of the
// cluster. The result is a list of the writes that correct every difference.
//
// Stateless, any thread.

#pragma once

#include <string>
#include <vector>

#include "cluster/member_documents.h"
#include "inventory/etcd_client.h"
#include "inventory/view.h"
#include "model/distributed_switch.h"

namespace paravane::cluster {

// `self`: the host that has the authority. Documents of unknown kinds, which a newer version may
// have written, are not changed. The writes are in the order in which they must be made. Deletions
// come first, switches come before their port groups, and members are in the order of
// member_writes().
std::vector<inventory::Write> config_writes(const authority::MemberBook& book,
                                            const model::Network& network,
                                            const inventory::View& seen, const std::string& self);

}  // namespace paravane::cluster
