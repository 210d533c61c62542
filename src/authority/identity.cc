#include "authority/identity.h"

#include <algorithm>

#include "model/vm.h"

namespace paravane::authority {
namespace {

constexpr std::string_view kScheme = "paravane://";
constexpr std::string_view kHost = "/host/";
constexpr std::size_t kIdLength = 32;

}  // namespace

bool is_cluster_id(std::string_view text) {
  return text.size() == kIdLength && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string print_identity(const Identity& identity) {
  return std::string(kScheme) + identity.cluster + std::string(kHost) + identity.host;
}

std::optional<Identity> parse_identity(std::string_view uri) {
  if (!uri.starts_with(kScheme)) return std::nullopt;
  uri.remove_prefix(kScheme.size());
  const std::string_view cluster = uri.substr(0, kIdLength);
  if (!is_cluster_id(cluster)) return std::nullopt;
  uri.remove_prefix(kIdLength);
  if (!uri.starts_with(kHost)) return std::nullopt;
  uri.remove_prefix(kHost.size());
  if (!model::check_name(uri)) return std::nullopt;
  return Identity{.cluster = std::string(cluster), .host = std::string(uri)};
}

}  // namespace paravane::authority
