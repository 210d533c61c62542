// LinkUpkeep: what one look at interfaces of ours does. It corrects what differs from what is
// wanted and notes it, or (`mends` false) changes nothing and says what differs.
//
// One thread. Blocks until the kernel responds.

#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "ethernet/links.h"
#include "ethernet/switch_links.h"
#include "ethernet/traffic_rules.h"

namespace paravane::ethernet {

// What is done to an interface: how it is before, that it cannot be done, and that it was.
struct UpkeepAct {
  const char* state;
  const char* wish;
  const char* deed;
};

inline constexpr const char* kForeignLink =
    "an interface that Paravane did not create has this name. Rename or remove it";

// An interface on which this host neither sends nor receives anything itself: no bridge, no
// address, no ARP, no IPv6.
struct WantedQuietLink {
  std::string alias;
  std::uint32_t mtu = 1500;
  std::optional<std::uint32_t> queue_length{};  // frames; nullopt: any
};

class LinkUpkeep {
 public:
  LinkUpkeep(Links& links, TrafficRules& rules, bool mends)
      : links_(links), rules_(rules), mends_(mends) {}

  bool mends() const { return mends_; }
  const std::vector<LinkProblem>& problems() const { return problems_; }
  const std::vector<LinkChange>& changes() const { return changes_; }

  void complain(const std::string& link, std::string text, bool foreign = false) {
    problems_.push_back({.link = link, .text = std::move(text), .foreign = foreign});
  }
  // What is made anew has all else new too: of an interface that this look has created, only that
  // is noted.
  void is_new(const std::string& link) { new_.insert(link); }

  // True: it is done, or would be.
  template <typename Deed>
  bool act(const std::string& link, const UpkeepAct& act, const Deed& deed) {
    if (!mends_) {
      complain(link, act.state);
      return true;
    }
    return judge(link, act, deed());
  }

  // All but that it is up.
  void keep_quiet(const Link& link, const WantedQuietLink& wanted);
  // On an interface that has no rules but ours, for frames that it receives and that it sends. If
  // one is not as it is wanted all are made again. So for a moment there are none. True: they are
  // as wanted.
  bool keep_rules(const Link& link, const std::vector<TrafficRule>& of_received,
                  const std::vector<TrafficRule>& of_sent = {});
  // True: it is up.
  bool keep_up(const Link& link);

 private:
  bool judge(const std::string& link, const UpkeepAct& act, const Status& status);
  void clear_addresses(const Link& link);
  void keep_ipv6_off(const std::string& link);

  Links& links_;
  TrafficRules& rules_;
  const bool mends_;
  std::set<std::string> new_;
  std::vector<LinkProblem> problems_;
  std::vector<LinkChange> changes_;
};

// Acts that a look at a tap of a guest, which has rules of others too, does as well.
inline constexpr UpkeepAct kHook{"it has no rules for RoCE frames", "add rules for RoCE frames",
                                 "its rules for RoCE frames were missing and were created again"};
inline constexpr UpkeepAct kRules{"its rules for RoCE frames are wrong",
                                  "set its rules for RoCE frames",
                                  "its rules for RoCE frames were wrong and were corrected"};
inline constexpr UpkeepAct kSign{"its alias is wrong", "mark it as owned by Paravane",
                                 "its alias was wrong and was corrected"};

}  // namespace paravane::ethernet
