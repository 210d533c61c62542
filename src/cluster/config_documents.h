// Compares the documents below config/ in etcd (members, switches and port groups) with the
// authority's book and its host's store, and lists the writes that correct every difference.
//
// Any thread.

#pragma once

#include <string>
#include <vector>

#include "cluster/member_documents.h"
#include "inventory/etcd_client.h"
#include "inventory/view.h"
#include "model/distributed_switch.h"

namespace paravane::cluster {

// `self`: the host that has the authority. Documents of other kinds, which a newer version may
// have, are left alone. In the order in which it is to be written: what is to be gone, switches
// before their port groups, members as member_writes() has them.
std::vector<inventory::Write> config_writes(const authority::MemberBook& book,
                                            const model::Network& network,
                                            const inventory::View& seen, const std::string& self);

}  // namespace paravane::cluster
