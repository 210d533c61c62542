#include "vfio_user/version.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace paravane::vfio_user {
namespace {

using nlohmann::json;

// The member, or `otherwise` when it is not there. Errors: not a number.
std::expected<std::uint32_t, std::string> number(const json& capabilities, const char* key,
                                                 std::uint32_t otherwise) {
  const auto found = capabilities.find(key);
  if (found == capabilities.end()) return otherwise;
  if (!found->is_number_unsigned()) return std::unexpected(std::string(key) + " is not a number");
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(
      found->get<std::uint64_t>(), std::numeric_limits<std::uint32_t>::max()));
}

std::expected<ClientLimits, std::string> read_capabilities(const json& capabilities,
                                                           ClientLimits limits) {
  const auto fds = number(capabilities, "max_msg_fds", limits.max_fds);
  if (!fds) return std::unexpected(fds.error());
  const auto data = number(capabilities, "max_data_xfer_size", limits.max_data);
  if (!data) return std::unexpected(data.error());
  limits.max_fds = *fds;
  limits.max_data = std::min(*data, kMaxDataBytes);
  return limits;
}

}  // namespace

std::expected<ClientLimits, std::string> read_version(std::span<const std::byte> payload) {
  if (payload.size() > kMaxVersionBytes) return std::unexpected("VERSION is too long");
  const std::optional<VersionNumbers> numbers = leading<VersionNumbers>(payload);
  if (!numbers) return std::unexpected("VERSION is too short");
  if (numbers->major.get() != 0) {
    return std::unexpected("uses vfio-user major version " + std::to_string(numbers->major.get()) +
                           ", not 0");
  }
  ClientLimits limits{.minor = numbers->minor.get()};
  const std::span<const std::byte> rest = payload.subspan(sizeof(VersionNumbers));
  if (rest.empty()) return limits;

  const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
  const std::size_t length = text.find('\0');
  if (length == std::string_view::npos) return std::unexpected("version data is not terminated");
  const json data = json::parse(text.substr(0, length), nullptr, /*allow_exceptions=*/false);
  if (!data.is_object()) return std::unexpected("version data is not a JSON object");
  const auto capabilities = data.find("capabilities");
  if (capabilities == data.end()) return limits;
  if (!capabilities->is_object()) return std::unexpected("capabilities are not a JSON object");
  return read_capabilities(*capabilities, limits);
}

std::string version_json(std::size_t room) {
  // In the order in which they are kept.
  const std::array<std::pair<const char*, std::uint32_t>, 3> members{{
      {"max_data_xfer_size", kMaxDataBytes},  // missing, it would mean 1 MiB
      {"max_msg_fds", kMaxMessageFds},
      {"pgsizes", 4096},
  }};
  for (std::size_t kept = members.size(); kept > 0; --kept) {
    json capabilities = json::object();
    for (std::size_t i = 0; i < kept; ++i) capabilities[members[i].first] = members[i].second;
    const std::string text = json{{"capabilities", capabilities}}.dump();
    if (text.size() <= room) return text;
  }
  return json{{"capabilities", json::object()}}.dump();
}

}  // namespace paravane::vfio_user
