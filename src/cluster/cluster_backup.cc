#include "cluster/cluster_backup.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "authority/damage_check.h"
#include "authority/succession.h"
#include "inventory/keys.h"
#include "json/json_reader.h"
#include "json/json_text.h"

namespace paravane::cluster {

using nlohmann::json;

namespace {

constexpr std::uint64_t kForm = 1;
constexpr std::uint64_t kLastSecond = std::uint64_t{1} << 40;

std::unexpected<Error> no_backup(const std::string& why) {
  return fail(Errc::kInvalidArgument, "this is not a valid backup of a cluster: " + why);
}

Status check_keys(const ClusterBackup& backup) {
  if (Status good = authority::check_key(backup.authority.key, backup.authority.certificate);
      !good) {
    return good;
  }
  if (Status good =
          authority::check_signature(backup.authority.certificate, backup.authority.certificate);
      !good) {
    return good;
  }
  if (backup.succession.empty()) return {};
  const auto succession =
      authority::parse_succession(backup.succession, backup.authority.certificate);
  if (!succession) return std::unexpected(succession.error());
  if (succession->keeper == backup.membership.self) return {};
  return fail(Errc::kInvalidArgument, "its proof of promotion names another host");
}

}  // namespace

InventoryFile backed_up(InventoryFile inventory) {
  const auto is_kept = [](const inventory::KeyValue& pair) {
    if (pair.key.starts_with(inventory::kConfigPrefix)) return true;
    const auto host = inventory::host_of_key(pair.key);
    return host && pair.key == inventory::host_prefix(*host) + std::string(inventory::kInfoKey);
  };
  std::erase_if(inventory.keys, [&](const auto& pair) { return !is_kept(pair); });
  inventory.away.clear();
  return inventory;
}

std::string print_backup(const ClusterBackup& backup) {
  AuthorityBook book = backup.book;
  book.tokens = {};
  json value = {{"form", kForm},
                {"made", backup.made.time_since_epoch().count()},
                {"version", backup.version},
                {"authority_key", backup.authority.key},
                {"authority", backup.authority.certificate},
                {"membership", print_membership(backup.membership)},
                {"book", print_book(book)},
                {"inventory", print_inventory(backup.inventory)}};
  if (!backup.etcd_authority.empty()) value["etcd_authority"] = backup.etcd_authority;
  if (!backup.succession.empty()) value["succession"] = backup.succession;
  return print_json(value);
}

Result<ClusterBackup> parse_backup(std::string_view text) {
  const auto value = parse_json(text);
  if (!value || !value->is_object()) return no_backup("not a JSON object");
  JsonReader reader(*value, "backup");
  const std::uint64_t form = reader.need_number("form");
  if (form != kForm) return no_backup("the backup was written by a newer version of Paravane");
  ClusterBackup backup{
      .made = authority::Seconds(std::chrono::seconds(reader.need_number("made", kLastSecond))),
      .version = reader.need_text("version"),
      .authority = {.key = reader.need_text("authority_key"),
                    .certificate = reader.need_text("authority")},
      .etcd_authority = reader.text("etcd_authority").value_or(""),
      .membership = {},
      .book = {},
      .inventory = {},
      .succession = reader.text("succession").value_or("")};
  const json* membership = reader.object("membership");
  const json* book = reader.object("book");
  auto inventory = parse_inventory(reader.need_text("inventory"));
  if (const Status good = reader.finish_ignoring_unknown(); !good) {
    return no_backup(good.error().message);
  }
  if (membership == nullptr || book == nullptr || !inventory)
    return no_backup("parts of the backup are missing");
  auto member = parse_membership(*membership);
  if (!member) return no_backup(member.error().message);
  auto kept = parse_book(*book);
  if (!kept) return no_backup(kept.error().message);
  backup.membership = std::move(*member);
  backup.book = std::move(*kept);
  backup.inventory = std::move(*inventory);
  if (!backup.membership.has_authority())
    return no_backup("the host that it describes was not the authority");
  if (!backup.membership.own_etcd_authority && backup.etcd_authority.empty()) {
    return no_backup("the certificate of etcd's CA is missing");
  }
  if (Status good = check_keys(backup); !good) return no_backup(good.error().message);
  return backup;
}

authority::Succession succession_of(const ClusterBackup& backup) {
  if (backup.succession.empty()) return {};
  return authority::parse_succession(backup.succession, backup.authority.certificate)
      .value_or(authority::Succession{});
}

}  // namespace paravane::cluster
