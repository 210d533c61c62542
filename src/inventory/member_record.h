// MemberRecord stores the public keys by which the other hosts recognize a member of the cluster.
// Only the authority can write the record, because only the authority has permission to write below
// config/ in etcd. A machine that has only the name of a former member is therefore not mistaken
// for that member.
//
// Each public key is stored as the SHA-256 of a certificate's public key, in 64 hex digits.
//
// Any thread.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace paravane::inventory {

struct MemberRecord {
  std::string joined;             // the key it came with: which machine of that name it is
  std::vector<std::string> keys;  // that are good for its certificates: one, or two while one
                                  // follows the other; none: it is known by its name alone

  friend bool operator==(const MemberRecord&, const MemberRecord&) = default;
};

// The records by host. Empty: the authority has an older version, which stores no keys, or has not
// written all of them yet.
using MemberRecords = std::map<std::string, MemberRecord>;

// Below config/.
std::string member_document(const std::string& host);
// The host that a document is about; nullopt: it is about something else.
std::optional<std::string> member_of_document(const std::string& name);
std::string print_member(const std::string& host, const MemberRecord& record);
// REQUIRES: member_of_document(name). Errors: kInvalidArgument.
Result<MemberRecord> parse_member(const std::string& name, const std::string& text);

// Explains to an operator why the owner of `key` is not the member `host`; empty: it is.
std::string why_no_member(const MemberRecords& records, const std::string& host,
                          const std::string& key);

}  // namespace paravane::inventory
