#include "keeper/connect_rules.h"

#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace paravane::keeper {
namespace {

// As <linux/landlock.h> has them since Linux 6.7; Debian 12's is older.
constexpr std::uint64_t kConnectTcp = 1U << 1;
constexpr int kRuleOfPort = 2;
constexpr long kFirstVersion = 4;

struct RulesetAttributes {
  std::uint64_t files = 0;
  std::uint64_t network = kConnectTcp;
};
struct PortRule {
  std::uint64_t allowed = kConnectTcp;
  std::uint64_t port = 0;
};

}  // namespace

bool has_connect_rules() {
  return ::syscall(SYS_landlock_create_ruleset, nullptr, 0UL, LANDLOCK_CREATE_RULESET_VERSION) >=
         kFirstVersion;
}

bool connect_only_to(std::uint16_t port) {
  if (!has_connect_rules()) return true;
  const RulesetAttributes handled;
  const UniqueFd rules(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0U)));
  const PortRule rule{.port = port};
  return rules && ::syscall(SYS_landlock_add_rule, rules.get(), kRuleOfPort, &rule, 0U) == 0 &&
         ::syscall(SYS_landlock_restrict_self, rules.get(), 0U) == 0;
}

}  // namespace paravane::keeper
