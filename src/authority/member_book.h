// MemberBook: the list of a cluster's members, each identified by the key of its certificate. The
// name alone does not identify a member: another machine may reuse the name, while the certificate
// of the previous machine stays valid for months.
//
// A key is the fingerprint of a public key (Certificate::key). Each renewal of a certificate
// creates a new key, and the response with the new certificate may be lost, so both keys are
// accepted until the new one is seen in use.
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
  std::string joined;   // what it came with: which machine of that name; empty: not known yet
  std::string present;  // what it is known to use; empty as above
  std::string next;     // signed, and not seen in use yet; empty: none

  friend bool operator==(const MemberKeys&, const MemberKeys&) = default;
};

class MemberBook {
 public:
  // In the place of whoever had that name.
  void admit(const std::string& host, const std::string& key);
  // One that has joined before keys were kept; known by its name until note_use().
  void admit_by_name(const std::string& host);
  // As others knew it.
  void adopt(const std::string& host, MemberKeys keys) { members_[host] = std::move(keys); }
  void remove(const std::string& host) { members_.erase(host); }

  // Whether who shows this key is that member.
  bool is_member(const std::string& host, const std::string& key) const;
  // A certificate is signed for `fresh`, asked for with `shown`. One that is known by its
  // name stays so: anybody who ever had that name could ask. REQUIRES: is_member().
  void renew(const std::string& host, const std::string& shown, const std::string& fresh);
  // The member itself says that it uses this key, in a place where no other can. True: that
  // was news.
  bool note_use(const std::string& host, const std::string& key);

  bool contains(const std::string& host) const { return members_.contains(host); }
  const std::map<std::string, MemberKeys>& members() const { return members_; }

  // As it is kept on disk. Errors: kInvalidArgument.
  nlohmann::json print() const;
  static Result<MemberBook> parse(const nlohmann::json& value);
  // As it was kept before keys were: names alone. Errors: kInvalidArgument.
  static Result<MemberBook> parse_names(const nlohmann::json& value);

  friend bool operator==(const MemberBook&, const MemberBook&) = default;

 private:
  std::map<std::string, MemberKeys> members_;
};

}  // namespace paravane::authority
