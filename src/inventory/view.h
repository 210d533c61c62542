// View is a snapshot of the cluster as all its hosts see it: the hosts with their adapters and
// GIDs, and the documents of the configuration. The class Records builds it from the keys in etcd.
// Every host can write keys of its own, so invalid keys are ignored, and limits prevent a host from
// exhausting the memory of other hosts.
//
// A claim is a key by which a host reserves a MAC address or GID for an adapter. Every host
// determines the owner of a GID in a network by the same rules:
//
//   - a claim counts only in the network of its adapter's port group;
//   - a MAC address belongs to the adapter whose key for it is the oldest (etcd's create_revision);
//   - a GID that is derived from an adapter's MAC address belongs to that adapter only;
//   - any other GID belongs to the oldest claim. A claim never counts as older than the adapter,
//     its membership in the port group, and the port group (etcd's create_revision: a port group
//     that is set keeps its network). Otherwise, a host could make a claim before the claim is
//     valid, and later profit from its age.
//
// The value of a claim is ignored, because it could change while the key keeps its age.
//
// A View does not change, so threads may share it. Records: owner thread only.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "inventory/etcd_json.h"
#include "inventory/generation.h"
#include "inventory/keys.h"
#include "inventory/member_record.h"
#include "model/closed_channel.h"
#include "model/distributed_switch.h"
#include "model/mac_address.h"

namespace paravane::inventory {

struct HostInfo {
  std::string address;     // of its channel, or its own: IPv4 or IPv6
  std::uint16_t port = 0;  // of its channel; 0: it has none
  std::string version;     // of its program
  std::string closed{};    // why it has none
  model::ClosedBy closed_by{};
  std::string key{};  // of the certificate that it shows (MemberRecord); empty: not said
  // Of the configuration that it follows; 0: not said.
  std::uint64_t generation = 0;
  std::string mark{};           // of that generation; empty: not said
  bool has_infiniband = false;  // it has an InfiniBand adapter, so it may have cables
};

struct AdapterInfo {
  model::MacAddress mac{};
  std::string port_group;  // empty: none

  friend bool operator==(const AdapterInfo&, const AdapterInfo&) = default;
};

// The keys that a host publishes about itself, below its prefix, with their values.
using OwnKeys = std::map<std::string, std::string>;
void say_info(OwnKeys& own, const HostInfo& info);
void say_adapter(OwnKeys& own, const model::AdapterName& id, const AdapterInfo& adapter);
void say_gid(OwnKeys& own, const GidId& gid, const model::AdapterName& adapter);
// Of an adapter whose link is down.
void say_unlinked_gid(OwnKeys& own, const GidId& gid, const model::AdapterName& adapter);

// Documents below config/: a switch and a port group, by their names.
std::string switch_document(const std::string& name);
std::string port_group_document(const std::string& name);
std::string print_switch(const model::DistributedSwitch& vds);
std::string print_port_group(const model::PortGroup& group);

using AdapterGids = std::map<GidId, model::AdapterName>;

struct GidOwner {
  std::string host;
  model::AdapterName adapter;

  friend bool operator==(const GidOwner&, const GidOwner&) = default;
};

// A claim that is not valid, and the reason.
struct LostClaim {
  std::string host;
  std::string key;     // below its prefix
  std::string reason;  // in an operator's words

  friend auto operator<=>(const LostClaim&, const LostClaim&) = default;
};

struct Host {
  std::optional<HostInfo> info;  // nullopt: it is away
  // The adapters that have a MAC address. If an adapter has several MAC addresses or port groups,
  // only the oldest is shown.
  std::map<model::AdapterName, AdapterInfo> adapters;
  AdapterGids gids;  // that it holds
  // The GIDs of its adapters whose link is down. They are no claims: another adapter may hold them.
  AdapterGids unlinked;
};

struct View {
  static constexpr std::size_t kMaxHosts = 256;
  static constexpr std::size_t kMaxKeysPerHost = 20'480;
  static constexpr std::size_t kMaxHostValue = 1'024;  // bytes
  static constexpr std::size_t kMaxHostKey = 1'024;  // bytes; a host with longer ones is oversized
  static constexpr std::size_t kMaxDocuments = 4'096;
  static constexpr std::size_t kMaxDocument = std::size_t{64} * 1024;

  std::map<std::string, Host> hosts;
  std::map<GidId, GidOwner> gids;
  std::map<model::MacAddress, GidOwner> macs;
  std::map<std::string, std::string> documents;  // below config/, their JSON as it stands there
  Generation generation;                         // of those documents
  std::int64_t revision = 0;                     // of etcd, that shows this
  bool is_whole = true;    // false: it was kept on disk, and claims were left out there
  model::Network network;  // of those documents; each port group has its switch
  // The member records of those documents. Empty until the authority's own record is there, which
  // is written last, because a host must not be refused while the list is incomplete.
  MemberRecords members;
  std::vector<LostClaim> lost;               // in order
  std::uint64_t odd_keys = 0;                // keys that are ignored, because they are invalid
  std::vector<std::string> oversized_hosts;  // hosts whose keys are ignored: too many or too long

  std::optional<GidOwner> owner(const GidId& id) const;
};

// The keys in etcd that Paravane uses.
class Records {
 public:
  // Stores a key. Returns an empty string or, once a host has too many keys, the position at which
  // the next host begins.
  std::string put(KeyValue&& pair);
  void erase(const std::string& key);
  void clear() { *this = Records(); }
  // True: a host with too many keys has deleted some of them, so all keys must be read again.
  bool wants_reading() const { return wants_reading_; }
  const Generation& generation() const { return generation_; }

  // Returns the keys and values from which put() would build the same Records: documents first,
  // then what hosts publish about themselves, then their claims.
  std::vector<KeyValue> entries() const;

  // `revision`: of etcd, that all of it shows.
  std::shared_ptr<const View> build(std::int64_t revision = 0) const;

 private:
  using Revision = std::int64_t;
  // The revisions at which keys were created.
  struct HostRecords {
    std::optional<HostInfo> info;
    std::map<std::pair<model::AdapterName, model::MacAddress>, Revision> macs;
    std::map<std::pair<model::AdapterName, std::string>, Revision> port_groups;
    std::map<std::pair<GidId, model::AdapterName>, Revision> gids;
    std::set<std::pair<GidId, model::AdapterName>> unlinked;
    std::set<std::size_t> odd;  // hashes of keys that are not as they should be
    bool oversized = false;

    std::size_t size() const {
      return macs.size() + port_groups.size() + gids.size() + unlinked.size() + odd.size();
    }
  };
  using Claim = decltype(HostRecords::gids)::value_type;
  // The age of a valid claim.
  struct Age {
    Revision counted = 0;  // since when it could
    Revision claimed = 0;  // the same but for the port group's document, which many share

    friend auto operator<=>(const Age&, const Age&) = default;
  };
  // For an existing adapter: the maximum age of its claims.
  struct Standing {
    Revision since = 0;
    std::map<std::uint64_t, Age> networks{};  // that it is in
  };

  void put_document(KeyValue&& pair);
  void erase_document(const std::string& name);
  // These return false if the document is invalid.
  bool read_document(const std::string& name, const std::string& text, Revision created);
  bool read_cluster_document(const nlohmann::json& value);
  bool read_network_document(const std::string& name, const nlohmann::json& value,
                             Revision created);
  static void show_adapters(const HostRecords& records, Host& host);
  std::map<model::AdapterName, Standing> standings(const model::Network& network,
                                                   const HostRecords& host) const;
  // The age of a claim of that host, or the reason why the claim is invalid, whatever other claims
  // there are.
  static Result<Age> age_of(const View& view, const std::map<model::AdapterName, Standing>& all,
                            const std::string& host, const Claim& claim);
  static bool put_host_key(HostRecords& host, const HostKey& key, const KeyValue& pair);
  static void erase_host_key(HostRecords& host, const HostKey& key);
  void show_unlinked(View& view) const;
  void settle_macs(View& view) const;
  void settle_gids(View& view) const;

  std::map<std::string, HostRecords> hosts_;
  struct Document {
    std::string text;
    Revision created = 0;
  };
  std::map<std::string, Document> documents_;
  model::Network network_;  // as documents say; a port group's switch may not be there
  MemberRecords members_;
  std::string authority_;  // the host that has it; empty: not said
  Generation generation_;
  std::map<std::string, Revision> port_groups_created_;  // of network_
  std::uint64_t odd_ = 0;
  bool wants_reading_ = false;
};

}  // namespace paravane::inventory
