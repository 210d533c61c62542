// MemberRecord: the keys by which the other hosts recognize a member. Only the authority can write
// it (only it may write config/), so reusing a name does not make a member of the machine that had
// it before.
//
// A key is the SHA-256 of a certificate's public key, as 64 hex digits.
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

// By host. None at all: an authority of an older version, that keeps no keys, or one that
// has not written all of them yet.
using MemberRecords = std::map<std::string, MemberRecord>;

// Below config/.
std::string member_document(const std::string& host);
// The host that a document is about; nullopt: it is about something else.
std::optional<std::string> member_of_document(const std::string& name);
std::string print_member(const std::string& host, const MemberRecord& record);
// REQUIRES: member_of_document(name). Errors: kInvalidArgument.
Result<MemberRecord> parse_member(const std::string& name, const std::string& text);

// Why who shows this key is not the member `host`, in an operator's words; empty: it is.
std::string why_no_member(const MemberRecords& records, const std::string& host,
                          const std::string& key);

}  // namespace paravane::inventory
