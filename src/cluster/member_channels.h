// MemberChannels: records the key with which each channel to another host was opened, to close
// channels whose key no longer belongs to a member: the host was removed, or another machine has
// its name. A key that was replaced in a renewal does not close a channel.
//
// Owner thread only.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "inventory/member_record.h"

namespace paravane::cluster {

class MemberChannels {
 public:
  struct Ended {
    std::string host;
    std::string reason;
  };

  // The channel to `host` is one with this key from now on. That a channel is lost need not
  // be told: to end none is no harm.
  void on_made(const std::string& host, const std::string& key);
  // Those to end, by what is known of members now. Each is forgotten.
  std::vector<Ended> look(const inventory::MemberRecords& members);
  void clear() { channels_.clear(); }

 private:
  struct Channel {
    std::string key;
    std::string joined;  // of the member that had the key; empty: it was known by its name
  };
  // Empty: it may stay.
  static std::string why_ended(const inventory::MemberRecords& members, const std::string& host,
                               Channel& channel);

  std::map<std::string, Channel> channels_;
};

}  // namespace paravane::cluster
