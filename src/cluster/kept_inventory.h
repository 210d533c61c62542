// KeptInventory: the last known state of the inventory, stored on disk. After a restart, this host
// can thus find the other hosts while etcd is unreachable, and it recognizes an etcd that was
// restored to an older state.
//
// Cluster thread.

#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "inventory/generation.h"
#include "inventory/view.h"

namespace paravane::cluster {

// Where members were seen last, by name: IPv4 or IPv6.
using MemberAddresses = std::map<std::string, std::string>;

// As it stands in the file: one line of JSON, and one with the SHA-256 of that.
struct InventoryFile {
  std::int64_t revision = 0;  // of etcd
  std::vector<inventory::KeyValue> keys{};
  MemberAddresses addresses{};  // of those that are away, too
};
std::string print_inventory(const InventoryFile& file);
// nullopt: it is damaged.
std::optional<InventoryFile> parse_inventory(std::string_view text);

class KeptInventory {
 public:
  // Bytes of keys and values. Of more, claims of hosts are left out, which come again with etcd.
  static constexpr std::size_t kMostBytes = std::size_t{6} << 20;
  static constexpr std::chrono::seconds kEvery{10};

  explicit KeptInventory(std::filesystem::path file) : file_(std::move(file)) {}

  // Null: nothing was kept. Errors: kIo, kInvalidArgument (damaged; then it is as if nothing was).
  Result<std::shared_ptr<const inventory::View>> load();

  // What the file has. Errors: as load()'s; kNotFound: nothing was kept.
  Result<InventoryFile> read() const;

  // The newest generation that was kept.
  const inventory::SeenGeneration& seen() const { return seen_; }

  // One that is away now may be promoted later.
  const MemberAddresses& addresses() const { return addresses_; }

  // `records` show `view`, which continues seen(). Another generation is kept at once, anything
  // else by step(). Errors: kIo.
  Status keep(const inventory::Records& records, const inventory::View& view, Instant now);
  // What is due. Errors: kIo.
  Status step(const inventory::Records& records, Instant now);
  // The same before its time: the file is about to be read, or the daemon ends. Errors: kIo.
  Status flush(const inventory::Records& records, Instant now);
  Instant next_step() const { return due_; }

 private:
  void note_addresses(const inventory::View& view);
  Status write(const inventory::Records& records, Instant now);

  std::filesystem::path file_;
  inventory::SeenGeneration seen_;
  MemberAddresses addresses_;  // View::kMaxHosts at most
  std::int64_t revision_ = 0;  // of what is to be kept
  Instant due_ = kNever;
  Instant written_{};
};

}  // namespace paravane::cluster
