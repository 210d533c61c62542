#include "cluster/kept_inventory.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "authority/certificate.h"
#include "cluster/cluster_files.h"
#include "json/json_reader.h"
#include "json/json_text.h"

namespace paravane::cluster {

using inventory::KeyValue;
using inventory::Records;
using inventory::SeenGeneration;
using inventory::View;
using nlohmann::json;

namespace {

constexpr std::uint64_t kMostRevision = INT64_MAX;

SeenGeneration seen_of(const View& view) {
  return {.number = view.generation.number,
          .mark = std::string(view.generation.mark()),
          .revision = view.revision};
}

// [key, value, create_revision, mod_revision]
json print_entry(const KeyValue& pair) {
  return json::array({pair.key, pair.value, pair.create_revision, pair.mod_revision});
}

bool read_entry(const json& entry, KeyValue& pair) {
  if (!entry.is_array() || entry.size() != 4 || !entry[0].is_string() || !entry[1].is_string() ||
      !entry[2].is_number_integer() || !entry[3].is_number_integer()) {
    return false;
  }
  pair = {.key = entry[0].get<std::string>(),
          .value = entry[1].get<std::string>(),
          .create_revision = entry[2].get<std::int64_t>(),
          .mod_revision = entry[3].get<std::int64_t>()};
  return !pair.key.empty();
}

bool read_entries(const json& entries, std::vector<KeyValue>& pairs) {
  for (const json& entry : entries) {
    KeyValue pair;
    if (!read_entry(entry, pair)) return false;
    pairs.push_back(std::move(pair));
  }
  return true;
}

// In the networks that `file` has.
std::shared_ptr<const View> away_of(const InventoryFile& file) {
  if (file.away.empty()) return nullptr;
  Records records;
  for (const KeyValue& pair : file.keys) {
    if (pair.key.starts_with(inventory::kConfigPrefix)) records.put(KeyValue(pair));
  }
  for (const KeyValue& pair : file.away) records.put(KeyValue(pair));
  return records.build(file.revision);
}

}  // namespace

std::string print_inventory(const InventoryFile& file) {
  json keys = json::array();
  for (const KeyValue& pair : file.keys) keys.push_back(print_entry(pair));
  json value = {
      {"revision", file.revision}, {"keys", std::move(keys)}, {"addresses", file.addresses}};
  for (const KeyValue& pair : file.away) value["away"].push_back(print_entry(pair));
  if (file.cut) value["cut"] = true;
  std::string text = print_json(value) + "\n";
  const std::string sum = authority::hash(text);
  return text.append(sum).append("\n");
}

std::optional<InventoryFile> parse_inventory(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view keys_text = text.substr(0, end + 1);
  if (text.substr(end + 1) != authority::hash(keys_text) + "\n") return std::nullopt;
  const auto value = parse_json(keys_text);
  if (!value || !value->is_object()) return std::nullopt;
  JsonReader reader(*value, "inventory");
  InventoryFile file{.revision =
                         static_cast<std::int64_t>(reader.need_number("revision", kMostRevision))};
  const json* keys = reader.array("keys");
  const json* addresses = reader.object("addresses");  // null: it is of an older version
  const json* away = reader.array("away");             // null: no member was away
  file.cut = reader.boolean("cut").value_or(false);
  if (!reader.finish_ignoring_unknown() || keys == nullptr) return std::nullopt;
  if (!read_entries(*keys, file.keys)) return std::nullopt;
  if (away != nullptr && !read_entries(*away, file.away)) return std::nullopt;
  if (addresses == nullptr) return file;
  for (const auto& [host, address] : addresses->items()) {
    if (!address.is_string()) return std::nullopt;
    file.addresses[host] = address.get<std::string>();
  }
  return file;
}

Result<InventoryFile> KeptInventory::read() const {
  std::error_code unknown;
  if (!std::filesystem::exists(file_, unknown) && !unknown) {
    return fail(Errc::kNotFound, file_.string() + " does not exist");
  }
  const auto text = read_file(file_);
  if (!text) return std::unexpected(text.error());
  auto file = parse_inventory(*text);
  if (file) return std::move(*file);
  return fail(Errc::kInvalidArgument,
              fmt::format("{} is damaged: this host knows no other hosts until it reaches etcd",
                          file_.string()));
}

Result<std::shared_ptr<const View>> KeptInventory::load() {
  auto file = read();
  if (!file && file.error().code == Errc::kNotFound) return nullptr;
  if (!file) return std::unexpected(file.error());
  away_ = away_of(*file);
  Records records;
  for (KeyValue& pair : file->keys) records.put(std::move(pair));
  auto view = records.build(file->revision);
  if (file->cut) {
    View part = *view;
    part.is_whole = false;
    view = std::make_shared<const View>(std::move(part));
  }
  seen_ = seen_of(*view);
  note_members(*view);
  addresses_ = std::move(file->addresses);
  note_addresses(*view);
  return view;
}

void KeptInventory::note_members(const View& view) {
  members_.clear();
  for (const auto& [name, ignored] : view.members) members_.insert(name);
}

// With an authority that does not say which hosts are members, any may be one.
bool KeptInventory::may_be_member(const std::string& host) const {
  return members_.empty() || members_.contains(host);
}

void KeptInventory::note_addresses(const View& view) {
  for (const auto& [name, host] : view.hosts) {
    if (host.info) addresses_[name] = host.info->address;
  }
  // With an authority that does not say which hosts are members, those that are there.
  std::erase_if(addresses_, [&view](const auto& one) {
    return view.members.empty() ? !view.hosts.contains(one.first)
                                : !view.members.contains(one.first);
  });
}

Status KeptInventory::keep(const Records& records, const View& view, Instant now) {
  revision_ = view.revision;
  note_members(view);
  note_addresses(view);
  const bool is_new =
      view.generation.number != seen_.number || view.generation.mark() != seen_.mark;
  due_ = is_new ? now : std::min(due_, std::max(now, written_ + kEvery));
  if (is_new) seen_ = seen_of(view);
  return step(records, now);
}

Status KeptInventory::step(const Records& records, Instant now) {
  return now < due_ ? Status() : flush(records, now);
}

Status KeptInventory::flush(const Records& records, Instant now) {
  if (due_ == kNever) return {};
  due_ = kNever;
  // Of news that was not followed yet: it may be older.
  if (records.generation().number != seen_.number || records.generation().mark() != seen_.mark) {
    return {};
  }
  Status written = write(records, now);
  if (!written) due_ = now + kEvery;  // a disk that is full
  return written;
}

void KeptInventory::add_away(InventoryFile& next, Instant now) {
  std::set<std::string, std::less<>> present;
  for (const KeyValue& pair : next.keys) {
    if (auto host = inventory::host_of_key(pair.key)) present.insert(std::move(*host));
  }
  const bool all_present =
      !members_.empty() && std::ranges::all_of(members_, [&present](const std::string& host) {
        return present.contains(host);
      });
  if (all_present) return;
  const auto before = read();
  if (!before) return;
  std::size_t bytes = 0;
  for (const std::vector<KeyValue>* pairs : {&before->keys, &before->away}) {
    for (const KeyValue& pair : *pairs) {
      const auto parsed = inventory::parse_host_key(pair.key);
      if (!parsed || parsed->kind == inventory::HostKey::Kind::kInfo) continue;
      if (present.contains(parsed->host) || !may_be_member(parsed->host)) continue;
      bytes += pair.key.size() + pair.value.size();
      if (bytes > kMostBytes) {
        return too_much_.warn(
            now,
            "cluster: {} has no room for all claims of hosts that are away: after "
            "a restart, this host does not know some of their GIDs",
            file_.string());
      }
      next.away.push_back(pair);
    }
  }
}

Status KeptInventory::write(const Records& records, Instant now) {
  written_ = now;
  InventoryFile file{.revision = revision_, .addresses = addresses_};
  std::size_t bytes = 0;
  for (KeyValue& pair : records.entries()) {
    bytes += pair.key.size() + pair.value.size();
    file.cut = bytes > kMostBytes;
    if (file.cut) break;
    file.keys.push_back(std::move(pair));
  }
  add_away(file, now);
  return write_file(file_, print_inventory(file));
}

}  // namespace paravane::cluster
