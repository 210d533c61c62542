// KeptInventory: stores the last known state of the inventory on this host's disk. The inventory is
// the data that the hosts of a cluster share in etcd. With the stored state, a host that restarts
// can find the other hosts while etcd is unreachable, and can recognize that etcd was restored to
// an older state.
//
// Cluster thread only.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "base/limited_log.h"
#include "base/result.h"
#include "inventory/generation.h"
#include "inventory/view.h"

namespace paravane::cluster {

// The last known IPv4 or IPv6 address of each member, by its name.
using MemberAddresses = std::map<std::string, std::string>;

// The content of the file. It is written as one line of JSON and a line with the SHA-256 checksum
// of the first.
struct InventoryFile {
  std::int64_t revision = 0;  // of etcd
  std::vector<inventory::KeyValue> keys{};
  MemberAddresses addresses{};  // including hosts that are away
  // The last claims of members that are away, which etcd does not have any more.
  std::vector<inventory::KeyValue> away{};
  bool cut = false;  // whether `keys` lacks claims, because they were too large
};
std::string print_inventory(const InventoryFile& file);
// nullopt: the text is damaged.
std::optional<InventoryFile> parse_inventory(std::string_view text);

class KeptInventory {
 public:
  // The maximum size of all keys and values in bytes. If they are larger, the claims of hosts are
  // left out, because etcd supplies them again.
  static constexpr std::size_t kMostBytes = std::size_t{6} << 20;
  static constexpr std::chrono::seconds kEvery{10};

  explicit KeptInventory(std::filesystem::path file) : file_(std::move(file)) {}

  // Null: nothing was stored. Errors: kIo, kInvalidArgument (damaged; the object then behaves as if
  // nothing was stored).
  Result<std::shared_ptr<const inventory::View>> load();

  // Reads the content of the file. Errors: as load(), and kNotFound (nothing was stored).
  Result<InventoryFile> read() const;

  // The claims of members that were away when load() read the file, as a state of their own; null:
  // there were none.
  const std::shared_ptr<const inventory::View>& away() const { return away_; }

  // The newest generation that was stored.
  const inventory::SeenGeneration& seen() const { return seen_; }

  // The addresses of all members, including those that are away, because such a member may be
  // promoted later.
  const MemberAddresses& addresses() const { return addresses_; }

  // Records a new state. A new generation is stored at once, any other change by a later step().
  // REQUIRES: `view` is the view of `records`, and its generation follows seen(). Errors: kIo.
  Status keep(const inventory::Records& records, const inventory::View& view, Instant now);
  // Stores the state if that is due. Errors: kIo.
  Status step(const inventory::Records& records, Instant now);
  // Stores the state even if that is not due yet, because the file is about to be read or the
  // daemon stops. Errors: kIo.
  Status flush(const inventory::Records& records, Instant now);
  Instant next_step() const { return due_; }

 private:
  void note_addresses(const inventory::View& view);
  // Copies claims of members that are away from the file that is about to be replaced.
  void add_away(InventoryFile& next, Instant now);
  void note_members(const inventory::View& view);
  bool may_be_member(const std::string& host) const;
  Status write(const inventory::Records& records, Instant now);

  std::filesystem::path file_;
  inventory::SeenGeneration seen_;
  MemberAddresses addresses_;                   // View::kMaxHosts at most
  std::set<std::string, std::less<>> members_;  // empty: not said; View::kMaxHosts at most
  std::shared_ptr<const inventory::View> away_;
  LimitedLog too_much_;
  std::int64_t revision_ = 0;  // the revision that must be stored
  Instant due_ = kNever;
  Instant written_{};
};

}  // namespace paravane::cluster
