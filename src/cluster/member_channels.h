// MemberChannels: remembers with which key each channel to another host was opened. It finds the
// channels whose key does not belong to a member any more, because the host was removed or another
// machine now has its name. Such channels must be closed. A key that was replaced in a renewal does
// not close a channel.
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

  // Records a new channel to `host` with this key. The loss of a channel need not be reported,
  // because closing a channel that does not exist is harmless.
  void on_made(const std::string& host, const std::string& key);
  // Returns the channels that must be closed according to the current list of members, and forgets
  // them.
  std::vector<Ended> look(const inventory::MemberRecords& members);
  void clear() { channels_.clear(); }

 private:
  struct Channel {
    std::string key;
    std::string joined;  // MemberKeys::joined of the member; empty: it was known by its name
  };
  // The reason why the channel must be closed; empty: it may stay open.
  static std::string why_ended(const inventory::MemberRecords& members, const std::string& host,
                               Channel& channel);

  std::map<std::string, Channel> channels_;
};

}  // namespace paravane::cluster
