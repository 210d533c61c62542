// What another host of the cluster can write: keys and values in etcd. And what comes
// over the network from what says that it is etcd, or knocks at the authority's door, and what
// is in a backup that is restored. The first byte says which.

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "authority/certificate.h"
#include "authority/door_message.h"
#include "authority/succession.h"
#include "authority/token.h"
#include "cluster/cluster_backup.h"
#include "inventory/etcd_json.h"
#include "inventory/view.h"
#include "json/json_text.h"

namespace paravane {
namespace {

// Everything up to the next line end, which is taken away too.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// Lines of KEY VALUE, or of -KEY, which takes it away: in the end each GID has one owner
// who has claimed it, for an adapter that is there.
void write_keys(std::string_view text) {
  inventory::Records records;
  std::int64_t revision = 0;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    ++revision;
    if (line.starts_with('-')) {
      records.erase(std::string(line.substr(1)));
      continue;
    }
    const std::size_t blank = std::min(line.find(' '), line.size());
    records.put({.key = std::string(line.substr(0, blank)),
                 .value = std::string(line.substr(std::min(blank + 1, line.size()))),
                 .create_revision = revision,
                 .mod_revision = revision,
                 .lease = 0});
  }
  const auto view = records.build();
  for (const auto& [gid, owner] : view->gids) {
    const auto host = view->hosts.find(owner.host);
    if (host == view->hosts.end() || !host->second.adapters.contains(owner.adapter)) std::abort();
    if (host->second.gids.at(gid) != owner.adapter) std::abort();
    for (const auto& [mac, keeper] : view->macs) {
      if (inventory::link_local_gid(mac) == gid.gid && keeper != owner) std::abort();
    }
  }
}

void hear_etcd(std::string_view text) {
  const auto value = parse_json(text);
  inventory::read_refusal(text);
  if (!value) return;
  static_cast<void>(inventory::read_range(*value));
  static_cast<void>(inventory::read_watch(*value));
}

// What is taken is what is printed again.
void knock(std::string_view text) {
  if (const auto request = authority::parse_request(text)) {
    const auto again = authority::parse_request(authority::print_request(*request));
    if (!again || again->request != request->request) std::abort();
  }
  static_cast<void>(authority::parse_answer(text));
  if (const auto token = authority::parse_token(text)) {
    if (!authority::parse_token(authority::print_token(*token))) std::abort();
  }
}

// After the authority's certificate and a zero.
void show_succession(std::string_view text) {
  const std::size_t end = std::min(text.find('\0'), text.size());
  const std::string_view rest = text.substr(std::min(end + 1, text.size()));
  static_cast<void>(authority::parse_succession(rest, text.substr(0, end)));
}

// What is taken is what is printed again.
void restore(std::string_view text) {
  const auto backup = cluster::parse_backup(text);
  if (!backup) return;
  const auto again = cluster::parse_backup(cluster::print_backup(*backup));
  if (!again || again->book.members != backup->book.members) std::abort();
}

}  // namespace
}  // namespace paravane

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'K': paravane::write_keys(text); break;
    case 'E': paravane::hear_etcd(text); break;
    case 'D': paravane::knock(text); break;
    case 'C': static_cast<void>(paravane::authority::inspect(text)); break;
    case 'S': paravane::show_succession(text); break;
    case 'B': paravane::restore(text); break;
    default: break;
  }
  return 0;
}
