#include "ethernet/merging_pair.h"

#include <algorithm>
#include <array>
#include <optional>

#include "ethernet/roce_port.h"
#include "ethernet/roce_rules.h"

namespace paravane::ethernet {
namespace {

constexpr UpkeepAct kMakeEnds{"it is missing", "create a pair of interfaces",
                              "it was missing and was created again"};
constexpr UpkeepAct kUnpair{"its other end is missing", "remove it",
                            "its other end was missing, so it was created again"};
constexpr UpkeepAct kFeatures{"it merges or cuts frames in the wrong way",
                              "set what it does with frames",
                              "it merged or cut frames in the wrong way and was corrected"};

using Ends = std::array<std::optional<Link>, 2>;  // the merging end, the filling end

class PairLook {
 public:
  PairLook(Links& links, LinkUpkeep& upkeep, const WantedMergingPair& wanted)
      : links_(links), upkeep_(upkeep), wanted_(wanted) {}

  int run() {
    Ends ends = find();
    if (!are_ours(ends)) return 0;
    if (ends[0].has_value() != ends[1].has_value()) remove_half(ends);
    if (!ends[0]) ends = make();
    if (!ends[0] || !ends[1]) return 0;
    const Link& merging = *ends[0];
    const Link& filling = *ends[1];
    for (const Link* end : {&merging, &filling}) {
      upkeep_.keep_quiet(*end, {.alias = wanted_.alias, .mtu = wanted_.mtu});
    }
    const bool ready =
        keep_features(merging.name, features_of_merging_end) &&
        keep_features(filling.name, features_of_filling_end) &&
        upkeep_.keep_rules(filling, rules_of_filling_end(wanted_.mac, filling.index)) &&
        upkeep_.keep_rules(merging, rules_of_merging_end(wanted_.mac, wanted_.port)) &&
        upkeep_.keep_up(filling) && upkeep_.keep_up(merging);
    return ready ? merging.index : 0;
  }

 private:
  Ends find() {
    Ends ends;
    const auto all = links_.list();
    if (!all) {
      upkeep_.complain(wanted_.merging, all.error().message);
      return ends;
    }
    for (const Link& link : *all) {
      if (link.name == wanted_.merging) ends[0] = link;
      if (link.name == wanted_.filling) ends[1] = link;
    }
    return ends;
  }

  bool are_ours(const Ends& ends) {
    for (const auto& end : ends) {
      if (!end || (end->kind == "veth" && end->mark == wanted_.alias)) continue;
      upkeep_.complain(end->name, kForeignLink, true);
      return false;
    }
    return true;
  }

  // Another program has renamed one end, or has taken it elsewhere.
  void remove_half(Ends& ends) {
    const Link& half = ends[0] ? *ends[0] : *ends[1];
    upkeep_.act(half.name, kUnpair, [&] { return links_.remove(half.index); });
    ends = {};
  }

  Ends make() {
    const bool made = upkeep_.act(wanted_.merging, kMakeEnds, [this] {
      return links_.add_pair(wanted_.merging, std::nullopt, wanted_.filling);
    });
    if (!made || !upkeep_.mends()) return {};
    Ends ends = find();
    for (auto& end : ends) {
      if (!end) {
        upkeep_.complain(wanted_.merging, "it disappeared as soon as it was created");
        return {};
      }
      upkeep_.is_new(end->name);
      const int index = end->index;
      if (!upkeep_.act(end->name, kSign, [&] { return links_.set_mark(index, wanted_.alias); })) {
        static_cast<void>(links_.remove(index));
        return {};
      }
      end->mark = wanted_.alias;
      // A kernel without IPv6 has no such thing to forbid.
      static_cast<void>(links_.forbid_own_address(index));
    }
    return ends;
  }

  bool keep_features(const std::string& link,
                     std::vector<FeatureWish> (*wanted)(const LinkFeatures& known)) {
    auto features = LinkFeatures::read(link);
    if (!features) {
      upkeep_.complain(link, features.error().message);
      return false;
    }
    const std::vector<FeatureWish> wishes = wanted(*features);
    if (features->differences(wishes).empty()) return true;
    return upkeep_.act(link, kFeatures, [&] { return features->set(wishes); });
  }

  Links& links_;
  LinkUpkeep& upkeep_;
  const WantedMergingPair& wanted_;
};

}  // namespace

int keep_merging_pair(Links& links, LinkUpkeep& upkeep, const WantedMergingPair& wanted) {
  return PairLook(links, upkeep, wanted).run();
}

bool is_merging_end(const Link& link, const std::string& mark) {
  return link.kind == "veth" && link.mark.starts_with(mark) && link.mark.ends_with(kRocePortEnd);
}

Status remove_merging_pairs(Links& links, const std::string& alias) {
  const auto all = links.list();
  if (!all) return std::unexpected(all.error());
  for (const Link& link : *all) {
    if (link.kind != "veth" || link.mark != alias) continue;
    const Status gone = links.remove(link.index);
    // The other end goes with the first.
    if (!gone && gone.error().cause != std::errc::no_such_device) return gone;
  }
  return {};
}

std::vector<FeatureWish> features_of_filling_end(const LinkFeatures& known) {
  std::vector<FeatureWish> wishes;
  for (const std::string& name : known.names()) {
    if (name.starts_with("tx-") && name.ends_with("-segmentation")) {
      wishes.push_back({.name = name, .on = false});
    }
  }
  return wishes;
}

std::vector<FeatureWish> features_of_merging_end(const LinkFeatures& known) {
  std::vector<FeatureWish> wishes = features_of_filling_end(known);
  wishes.push_back({.name = "rx-gro", .on = true});
  wishes.push_back({.name = "rx-udp-gro-forwarding", .on = true});
  wishes.push_back({.name = "rx-gro-list", .on = false});
  return wishes;
}

}  // namespace paravane::ethernet
