// MemberBook: the list of a cluster's members. A member is identified by the key of its certificate
// and not by its name alone, because an operator can give another machine the same name while the
// certificate of the previous machine is still valid.
//
// A key is represented by the fingerprint of its public part (Certificate::key). Each renewal of a
// certificate creates a new key. The response with the new certificate can be lost. The old key and
// the new key are therefore both accepted until a host has used the new key.
//
// Owner thread only.

#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "base/result.h"

namespace paravane::authority {

struct MemberKeys {
  std::string joined;   // the key with which the machine joined; empty: not known yet
  std::string present;  // the key that it is known to use; empty: not known yet
  std::string next;     // a key that was signed but not seen in use; empty: none

  friend bool operator==(const MemberKeys&, const MemberKeys&) = default;
};

class MemberBook {
 public:
  // Adds a member. It replaces the member that had this name before.
  void admit(const std::string& host, const std::string& key);
  // Adds a member that joined before keys were recorded. It is identified by its name until
  // note_use().
  void admit_by_name(const std::string& host);
  // Adds a member with the keys that another copy of the list has for it.
  void adopt(const std::string& host, MemberKeys keys) { members_[host] = std::move(keys); }
  void remove(const std::string& host) { members_.erase(host); }

  // Whether a host that presents this key is the member with this name.
  bool is_member(const std::string& host, const std::string& key) const;
  // Records that a certificate was signed for the key `fresh` at the request of a host that
  // presented the key `shown`. A member that is identified by its name only stays so, because every
  // machine that ever had the name could make this request. REQUIRES: is_member().
  void renew(const std::string& host, const std::string& shown, const std::string& fresh);
  // Records that the member uses this key. The member itself has written this where no other host
  // can write. True: the list has changed.
  bool note_use(const std::string& host, const std::string& key);

  bool contains(const std::string& host) const { return members_.contains(host); }
  const std::map<std::string, MemberKeys>& members() const { return members_; }

  // The format on disk. Errors: kInvalidArgument.
  nlohmann::json print() const;
  static Result<MemberBook> parse(const nlohmann::json& value);
  // Parses the format of older versions, which has names without keys. Errors: kInvalidArgument.
  static Result<MemberBook> parse_names(const nlohmann::json& value);

  friend bool operator==(const MemberBook&, const MemberBook&) = default;

 private:
  std::map<std::string, MemberKeys> members_;
};

}  // namespace paravane::authority
