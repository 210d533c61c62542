// Creates the documents in etcd that list the members, from the authority's book, and lists the
// writes that correct documents that differ. Other hosts recognize members by these documents.
//
// The number of documents is limited to what readers accept (View::kMaxHosts). The authority's own
// host is always included, because without its document the others are ignored (View::members).
//
// Any thread.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "authority/member_book.h"
#include "inventory/etcd_client.h"
#include "inventory/view.h"

namespace paravane::cluster {

// Below config/, by name. `self`: the host that has the authority.
using MemberDocuments = std::map<std::string, std::string>;
MemberDocuments member_documents(const authority::MemberBook& book, const std::string& self);

// In the order in which it is to be written: first what is to be gone, for which readers keep
// no room; last the authority's own, so that half a list shuts nobody out.
std::vector<inventory::Write> member_writes(const MemberDocuments& wanted,
                                            const inventory::View& seen, const std::string& self);

}  // namespace paravane::cluster
