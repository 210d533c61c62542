#include "host/address_seed.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <random>

namespace paravane::host {
namespace {

constexpr const char* kName = "address_seed";

}  // namespace

model::ApiResult<std::string> address_seed(store::Store& store) {
  const auto kept = store.documents(kAddressSeedKind);
  if (!kept) return std::unexpected(kept.error());
  if (const auto found = kept->find(kName); found != kept->end() && found->second.is_string()) {
    return found->second.get<std::string>();
  }
  std::random_device random;
  std::string seed =
      fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
  if (auto written = store.put_document(kAddressSeedKind, kName, seed); !written) {
    return std::unexpected(written.error());
  }
  return seed;
}

}  // namespace paravane::host
