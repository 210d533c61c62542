// MemberChannels: remembers the key with which each channel to another host was opened. A channel
// must be closed when its key no longer belongs to a member, because the host was removed or
// another machine now has its name. MemberChannels finds these channels. A channel stays open if
// its key was only replaced by a renewal.
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
