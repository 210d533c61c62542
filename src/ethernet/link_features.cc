#include "ethernet/link_features.h"

#include <linux/ethtool.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "ethernet/ethtool.h"

namespace paravane::ethernet {
namespace {

constexpr std::uint32_t kMostFeatures = 1024;  // the kernel has fewer than 100
constexpr std::uint32_t kBlockBits = 32;
constexpr std::uint32_t kBlocks = kMostFeatures / kBlockBits;

// What <linux/ethtool.h> has, with as much behind it as is asked for.
struct FeatureCount {
  std::uint32_t cmd = ETHTOOL_GSSET_INFO;
  std::uint32_t reserved = 0;
  std::uint64_t sets = 1ULL << ETH_SS_FEATURES;
  std::uint32_t count = 0;
};
static_assert(offsetof(FeatureCount, sets) == offsetof(ethtool_sset_info, sset_mask));
static_assert(offsetof(FeatureCount, count) == offsetof(ethtool_sset_info, data));

struct FeatureNames {
  std::uint32_t cmd = ETHTOOL_GSTRINGS;
  std::uint32_t set = ETH_SS_FEATURES;
  std::uint32_t count = 0;
  std::array<char, std::size_t{kMostFeatures} * ETH_GSTRING_LEN> names{};
};
static_assert(offsetof(FeatureNames, names) == offsetof(ethtool_gstrings, data));

struct Features {
  std::uint32_t cmd = ETHTOOL_GFEATURES;
  std::uint32_t count = kBlocks;  // of blocks
  std::array<ethtool_get_features_block, kBlocks> blocks{};
};
static_assert(offsetof(Features, blocks) == offsetof(ethtool_gfeatures, features));

struct FeatureWishes {
  std::uint32_t cmd = ETHTOOL_SFEATURES;
  std::uint32_t count = 0;  // of blocks
  std::array<ethtool_set_features_block, kBlocks> blocks{};
};
static_assert(offsetof(FeatureWishes, blocks) == offsetof(ethtool_sfeatures, features));

std::uint32_t bit_of(std::size_t number) {
  return 1U << (number % kBlockBits);
}

}  // namespace

Result<LinkFeatures> LinkFeatures::read(const std::string& link) {
  LinkFeatures features(link);
  if (Status named = features.read_names(); !named) return std::unexpected(named.error());
  if (Status seen = features.read_states(); !seen) return std::unexpected(seen.error());
  return features;
}

Status LinkFeatures::read_names() {
  const Ethtool ethtool;
  if (!ethtool.opened()) return fail_by_system(Errc::kIo, "socket", errno);
  FeatureCount count;
  if (!ethtool.ask(link_, &count)) return fail_by_system(Errc::kIo, link_, errno);
  if (count.count > kMostFeatures) return fail(Errc::kIo, link_ + ": it has too many features");
  FeatureNames found;
  found.count = count.count;
  if (!ethtool.ask(link_, &found)) return fail_by_system(Errc::kIo, link_, errno);
  for (std::uint32_t i = 0; i < count.count; ++i) {
    const char* name = found.names.data() + std::size_t{i} * ETH_GSTRING_LEN;
    names_.emplace_back(name, ::strnlen(name, ETH_GSTRING_LEN));
  }
  return {};
}

Status LinkFeatures::read_states() {
  const Ethtool ethtool;
  Features features;
  if (!ethtool.ask(link_, &features)) return fail_by_system(Errc::kIo, link_, errno);
  are_on_.clear();
  for (const ethtool_get_features_block& block : features.blocks) are_on_.push_back(block.active);
  return {};
}

std::size_t LinkFeatures::number_of(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin());
}

bool LinkFeatures::is_on(std::string_view name) const {
  const std::size_t number = number_of(name);
  return number < names_.size() && (are_on_[number / kBlockBits] & bit_of(number)) != 0;
}

std::vector<FeatureWish> LinkFeatures::differences(const std::vector<FeatureWish>& wishes) const {
  std::vector<FeatureWish> differences;
  for (const FeatureWish& wish : wishes) {
    if (is_on(wish.name) != wish.on) differences.push_back(wish);
  }
  return differences;
}

Status LinkFeatures::set(const std::vector<FeatureWish>& wishes) {
  FeatureWishes request;
  request.count = static_cast<std::uint32_t>((names_.size() + kBlockBits - 1) / kBlockBits);
  for (const FeatureWish& wish : differences(wishes)) {
    const std::size_t number = number_of(wish.name);
    if (number == names_.size()) {
      return fail(Errc::kUnsupported, link_ + ": this kernel does not know " + wish.name);
    }
    ethtool_set_features_block& block = request.blocks[number / kBlockBits];
    block.valid |= bit_of(number);
    if (wish.on) block.requested |= bit_of(number);
  }
  const Ethtool ethtool;
  if (!ethtool.opened()) return fail_by_system(Errc::kIo, "socket", errno);
  if (!ethtool.ask(link_, &request)) return fail_by_system(Errc::kIo, link_, errno);
  if (Status seen = read_states(); !seen) return seen;
  const std::vector<FeatureWish> left = differences(wishes);
  if (left.empty()) return {};
  return fail(Errc::kBadState, link_ + ": its driver does not turn " + left.front().name +
                                   (left.front().on ? " on" : " off"));
}

}  // namespace paravane::ethernet
