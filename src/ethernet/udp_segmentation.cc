#include "ethernet/udp_segmentation.h"

#include "ethernet/link_features.h"

namespace paravane::ethernet {
namespace {

constexpr const char* kFeature = "tx-udp-segmentation";

}  // namespace

Result<bool> cuts_udp(const std::string& link) {
  const auto features = LinkFeatures::read(link);
  if (!features) return std::unexpected(features.error());
  return features->is_on(kFeature);
}

Result<bool> stop_cutting_udp(const std::string& link) {
  auto features = LinkFeatures::read(link);
  if (!features) return std::unexpected(features.error());
  if (!features->is_on(kFeature)) return false;
  const Status done = features->set({{.name = kFeature, .on = false}});
  if (!done) return std::unexpected(done.error());
  return true;
}

}  // namespace paravane::ethernet
