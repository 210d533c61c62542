// TrafficRules: creates, lists and removes rules of traffic control (tc(8)) on network interfaces
// of this network namespace, through rtnetlink. A rule looks at every frame that an interface
// receives or sends, and takes those that match away: to another interface, or to nowhere.
//
// The rules hang on the queueing discipline `clsact` of the interface, use the classifier `bpf` and
// the action `mirred`. These are the kernel's modules sch_ingress, cls_bpf and act_mirred, which
// the kernel loads when a rule needs them. A frame is dropped by the verdict of the classifier
// itself and not by an action, so the module act_gact is not needed. A rule that fills in a
// checksum has the actions `pedit` and `csum` too (act_pedit, act_csum).
//
// Other programs can add rules of their own to the same interface. A rule that this class creates
// carries a cookie, by which it is recognized.
//
// Nothing is cached. Blocks until the kernel responds. One thread. Needs CAP_NET_ADMIN, except for
// what only lists.

#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace paravane::ethernet {

class RtnlSocket;

// Frames that an interface receives or sends, as this host sees it: a tap sends what its program
// reads.
enum class Direction : std::uint8_t { kReceived, kSent };

enum class RuleAct : std::uint8_t {
  kDrop,
  kSend,     // the other interface sends the frame
  kReceive,  // the other interface behaves as if it had received the frame
};

struct TrafficRule {
  std::uint16_t preference = 0;  // rules with a lower one look first; not 0
  std::uint32_t number = 0;      // tells rules of the same preference apart; not 0
  // Matches if its result is not 0. For kDrop it is the verdict itself: see drop_all().
  std::vector<sock_filter> program{};
  RuleAct act = RuleAct::kDrop;
  int to = 0;  // the index of the other interface; 0: it is gone, and the frames are dropped
  // Where a UDP checksum is that is 0 and is filled in first, in bytes from the network header: 26
  // or 46, or 0, and none is. Not of kDrop. REQUIRES: the program matches no frame that is to be
  // cut into packets, for the kernel would fill in one checksum for all of it.
  std::uint32_t checksum_at = 0;
};
bool operator==(const TrafficRule& one, const TrafficRule& other);

// A rule that drops all frames that no rule before it took.
TrafficRule drop_all(std::uint16_t preference, std::uint32_t number);

// A rule as the kernel lists it.
struct ListedRule {
  TrafficRule rule;
  std::string kind;        // of its classifier, such as "u32"; only "bpf" can be ours
  bool marked = false;     // it carries our cookie
  bool main_chain = true;  // false: frames come to it only from another rule
};

// How the rules of an interface differ from those that are requested.
struct RuleDifference {
  std::vector<TrafficRule> missing;   // also those whose contents differ
  std::vector<TrafficRule> unwanted;  // rules with our cookie
  std::vector<ListedRule> foreign;    // rules of other programs

  bool is_good() const { return missing.empty() && unwanted.empty(); }
};
RuleDifference compare(const std::vector<ListedRule>& found,
                       const std::vector<TrafficRule>& wanted);

class TrafficRules {
 public:
  // Errors: kIo.
  static Result<TrafficRules> open();
  ~TrafficRules();
  TrafficRules(TrafficRules&&) noexcept;
  TrafficRules& operator=(TrafficRules&&) noexcept;

  // Errors of all functions below: kUnsupported (the kernel lacks a module, which the message
  // names; set() finds that an action is lacking, too), kIo; both with the kernel's message.

  // The queueing discipline on which rules of the interface hang: "clsact", "ingress" (another
  // program's, on which rules cannot hang), or empty.
  Result<std::string> hook(int link);
  Status add_hook(int link);
  // Removes the hook and all rules of the interface, of any program.
  Status remove_hook(int link);

  Result<std::vector<ListedRule>> list(int link, Direction direction);
  // Creates the rule, or replaces the one with the same preference and number.
  Status set(int link, Direction direction, const TrafficRule& rule);
  Status remove(int link, Direction direction, const TrafficRule& rule);

  // How many frames rules have dropped since the hook was created, in both directions. Frames that
  // were to go to an interface that is down or gone count, too. Zero: there is no hook.
  Result<std::uint64_t> dropped(int link);

 private:
  explicit TrafficRules(std::unique_ptr<RtnlSocket> socket);

  std::unique_ptr<RtnlSocket> socket_;
};

}  // namespace paravane::ethernet
