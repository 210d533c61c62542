#include "ethernet/udp_segmentation.h"

#include <linux/ethtool.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "ethernet/ethtool.h"

namespace paravane::ethernet {
namespace {

constexpr std::string_view kFeature = "tx-udp-segmentation";
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

class Feature {
 public:
  // Errors: kIo, kNotFound (the kernel does not know it).
  static Result<Feature> find(const Ethtool& ethtool, const std::string& link);

  Result<bool> is_on(const Ethtool& ethtool, const std::string& link) const {
    Features features;
    if (!ethtool.ask(link, &features)) return fail_by_system(Errc::kIo, link, errno);
    return (features.blocks[block_].active & bit_) != 0;
  }
  Status turn_off(const Ethtool& ethtool, const std::string& link) const {
    FeatureWishes wishes;
    wishes.count = blocks_;
    wishes.blocks[block_] = {.valid = bit_, .requested = 0};
    if (ethtool.ask(link, &wishes)) return {};
    return fail_by_system(Errc::kIo, link, errno);
  }

 private:
  Feature(std::uint32_t number, std::uint32_t count)
      : block_(number / kBlockBits),
        bit_(1U << (number % kBlockBits)),
        blocks_((count + kBlockBits - 1) / kBlockBits) {}

  std::uint32_t block_;
  std::uint32_t bit_;
  std::uint32_t blocks_;  // that all features take
};

Result<Feature> Feature::find(const Ethtool& ethtool, const std::string& link) {
  if (!ethtool.opened()) return fail_by_system(Errc::kIo, "socket", errno);
  FeatureCount count;
  if (!ethtool.ask(link, &count)) return fail_by_system(Errc::kIo, link, errno);
  if (count.count > kMostFeatures) return fail(Errc::kIo, link + ": it has too many features");
  FeatureNames features;
  features.count = count.count;
  if (!ethtool.ask(link, &features)) return fail_by_system(Errc::kIo, link, errno);
  for (std::uint32_t i = 0; i < count.count; ++i) {
    const char* name = features.names.data() + std::size_t{i} * ETH_GSTRING_LEN;
    if (std::string_view(name, ::strnlen(name, ETH_GSTRING_LEN)) == kFeature) {
      return Feature(i, count.count);
    }
  }
  return fail(Errc::kNotFound, link + ": no such feature");
}

}  // namespace

Result<bool> cuts_udp(const std::string& link) {
  const Ethtool ethtool;
  const auto feature = Feature::find(ethtool, link);
  if (feature) return feature->is_on(ethtool, link);
  if (feature.error().code == Errc::kNotFound) return false;
  return std::unexpected(feature.error());
}

Result<bool> stop_cutting_udp(const std::string& link) {
  const Ethtool ethtool;
  const auto feature = Feature::find(ethtool, link);
  if (!feature && feature.error().code == Errc::kNotFound) return false;
  if (!feature) return std::unexpected(feature.error());
  const auto before = feature->is_on(ethtool, link);
  if (!before || !*before) return before;
  if (Status done = feature->turn_off(ethtool, link); !done) return std::unexpected(done.error());
  const auto after = feature->is_on(ethtool, link);
  if (!after) return after;
  if (*after) return fail(Errc::kBadState, link + ": its driver does not turn it off");
  return true;
}

}  // namespace paravane::ethernet
