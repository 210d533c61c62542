// The documents in etcd that list the members of a cluster. Other hosts recognize members by these
// documents. The authority, which signs certificates, creates the documents from its own list of
// members and corrects those that differ.
//
// There are at most as many documents as readers accept (View::kMaxHosts). The document of the
// authority's own host is always among them, because readers ignore the other documents without it
// (View::members).
//
// Stateless, any thread.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "authority/member_book.h"
#include "inventory/etcd_client.h"
#include "inventory/view.h"

namespace paravane::cluster {

// The documents below config/, by name. `self`: the host that has the authority.
using MemberDocuments = std::map<std::string, std::string>;
MemberDocuments member_documents(const authority::MemberBook& book, const std::string& self);

// The writes in the order in which they must be made. Deletions come first, because readers have no
// room for extra documents. The authority's own document comes last, so that an incomplete list
// excludes no member.
std::vector<inventory::Write> member_writes(const MemberDocuments& wanted,
                                            const inventory::View& seen, const std::string& self);

}  // namespace paravane::cluster
