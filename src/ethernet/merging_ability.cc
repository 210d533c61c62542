#include "ethernet/merging_ability.h"

#include <fmt/core.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "ethernet/link_features.h"
#include "ethernet/links.h"
#include "ethernet/merging_pair.h"
#include "ethernet/roce_rules.h"
#include "ethernet/traffic_rules.h"

namespace paravane::ethernet {
namespace {

using Version = std::pair<unsigned, unsigned>;
constexpr Version kMergedFromTaps{6, 2};
constexpr Version kChecksIdentifications{6, 10};

Version version_of(std::string_view release) {
  Version version{0, 0};
  const char* const begin = release.data();
  const char* const end = begin + release.size();
  const auto major = std::from_chars(begin, end, version.first);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return {0, 0};
  std::from_chars(major.ptr + 1, end, version.second);
  return version;
}

// Whether all is there, with this end of a pair.
Status try_pair(Links& links, TrafficRules& rules, const std::string& name,
                const std::string& alias) {
  const auto all = links.list();
  if (!all) return std::unexpected(all.error());
  const auto link = std::ranges::find(*all, name, &Link::name);
  if (link == all->end()) return fail(Errc::kIo, "a newly created interface disappeared");
  // If the daemon dies before it has removed the pair, make_links() knows it by this.
  if (Status marked = links.set_mark(link->index, alias); !marked) return marked;
  auto features = LinkFeatures::read(name);
  if (!features) return std::unexpected(features.error());
  if (Status set = features->set(features_of_merging_end(*features)); !set) return set;
  if (Status hooked = rules.add_hook(link->index); !hooked) return hooked;
  const std::vector<TrafficRule> wanted = rules_of_filling_end({}, link->index);
  for (const TrafficRule& rule : wanted) {
    if (Status set = rules.set(link->index, Direction::kReceived, rule); !set) return set;
  }
  const auto listed = rules.list(link->index, Direction::kReceived);
  if (!listed) return std::unexpected(listed.error());
  if (compare(*listed, wanted).is_good()) return {};
  return fail(Errc::kBadState, "this kernel does not list the rules that it was given");
}

}  // namespace

MergingAbility merging_of_release(std::string_view release) {
  const Version version = version_of(release);
  if (version < kMergedFromTaps) {
    return {.merges = Merges::kNothing,
            .lacks = "taps of this kernel hand over packets one by one (Linux 6.2 merges them)"};
  }
  if (version < kChecksIdentifications) {
    return {.merges = Merges::kIpv6,
            .lacks =
                "this kernel merges packets over IPv4 without a look at their identifications "
                "(Linux 6.10 does look), so only those over IPv6 are merged"};
  }
  return {.merges = Merges::kAll};
}

MergingAbility find_merging(const std::string& mark) {
  utsname kernel{};
  if (::uname(&kernel) != 0) return {.lacks = "cannot tell this kernel's release"};
  MergingAbility ability = merging_of_release(kernel.release);
  if (ability.merges == Merges::kNothing) return ability;
  auto links = Links::open();
  auto rules = TrafficRules::open();
  if (!links || !rules) return {.lacks = "cannot reach this kernel's interfaces"};
  // No VM is named with capitals, so no other link of Paravane has this name.
  const std::string name = fmt::format("pvP{}m", ::getpid());
  const std::string other = fmt::format("pvP{}f", ::getpid());
  if (Status made = links->add_pair(name, std::nullopt, other); !made) {
    return {.lacks = "cannot create a pair of interfaces: " + made.error().message};
  }
  const Status tried = try_pair(*links, *rules, name, mark + name);
  if (const auto all = links->list()) {
    const auto link = std::ranges::find(*all, name, &Link::name);
    if (link != all->end()) static_cast<void>(links->remove(link->index));
  }
  if (tried) return ability;
  // A module that is loaded later is not seen: nothing looks again.
  const bool may_be_loaded = tried.error().cause == std::errc::no_such_file_or_directory;
  return {.lacks = tried.error().message + (may_be_loaded ? ", and restart the daemon" : "")};
}

}  // namespace paravane::ethernet
