// Defines the layout of keys in etcd. All of them are below /paravane/v1/:
//
//   config/...                                switches and port groups; only the authority's
//                                             host may write these keys
//   hosts/HOST/info                           the host itself, with its address
//   hosts/HOST/adapters/VM/N/mac/MAC          adapter N of a VM
//   hosts/HOST/adapters/VM/N/portgroup/NAME   the port group that the adapter is in
//   hosts/HOST/gids/SEGMENT/v2/HEX/VM/N       a GID of the adapter; SEGMENT is the number of
//                                             its network (model/segment.h), as 16 hex digits
//   hosts/HOST/unlinked/SEGMENT/v2/HEX/VM/N   a GID of an adapter whose link is down: not a claim,
//                                             but no native endpoint has it
//
// The etcd user of a host has permission to write only below hosts/HOST/, so a key proves which
// host wrote it. A claim (a host's reservation of a MAC address or GID) is a key without a
// meaningful value. The age of a claim is the age of its key. Values have no meaning because a host
// could change a value without changing the age of the key.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/adapter_name.h"
#include "model/mac_address.h"

namespace paravane::inventory {

inline constexpr std::string_view kRoot = "/paravane/v1/";
inline constexpr std::string_view kConfigPrefix = "/paravane/v1/config/";
inline constexpr std::string_view kHostsPrefix = "/paravane/v1/hosts/";
// Below config/: {"cluster":...,"authority":...}, the host that has the authority.
inline constexpr std::string_view kClusterDocument = "cluster";
// The proof of the newest promotion (authority/succession.h). Absent before the first promotion.
inline constexpr std::string_view kSuccessionDocument = "succession";
inline constexpr std::size_t kMaxKey = 256;

std::string host_prefix(std::string_view host);  // ends with a slash

// RDMA distinguishes GIDs by address and by RoCE version.
enum class RoceType : std::uint8_t { kV1, kV2 };
std::string_view to_string(RoceType type);

// Identifies a GID in its network, because two networks may use the same addresses.
struct GidId {
  std::uint64_t segment = 0;
  std::array<std::uint8_t, 16> gid{};
  RoceType type = RoceType::kV2;

  friend auto operator<=>(const GidId&, const GidId&) = default;
};
std::string format_gid(const GidId& id);  // 16 hex digits, "/v2/" and 32 hex digits

// The first GID of an adapter: fe80:: with the modified EUI-64 of the MAC address (RFC 4291,
// appendix A).
std::array<std::uint8_t, 16> link_local_gid(const model::MacAddress& mac);

std::string format_adapter(const model::AdapterName& name);  // in a key: "db1/1", "vmhba32/0"
std::optional<model::AdapterName> parse_adapter(std::string_view text);

// Below host_prefix().
std::string mac_key(const model::AdapterName& id, const model::MacAddress& mac);
std::string port_group_key(const model::AdapterName& id, const std::string& port_group);
std::string gid_key(const GidId& id, const model::AdapterName& adapter);
std::string unlinked_gid_key(const GidId& id, const model::AdapterName& adapter);
inline constexpr std::string_view kInfoKey = "info";

// The meaning of a host's key. Keys of any other form are ignored.
struct HostKey {
  enum class Kind : std::uint8_t { kInfo, kMac, kPortGroup, kGid, kUnlinkedGid };
  std::string host;
  Kind kind = Kind::kInfo;
  model::AdapterName adapter{};  // of all but kInfo
  model::MacAddress mac{};       // of kMac
  std::string port_group{};      // of kPortGroup
  GidId gid{};                   // of kGid and kUnlinkedGid
};
std::optional<HostKey> parse_host_key(std::string_view key);

// The host to whose prefix a key belongs, whatever follows the prefix.
std::optional<std::string> host_of_key(std::string_view key);

}  // namespace paravane::inventory
