#include "cluster/config_documents.h"

#include <iterator>
#include <utility>

namespace paravane::cluster {

using inventory::View;
using inventory::Write;

namespace {

// Writes `name` unless it stands there so.
void want(std::vector<Write>& writes, const View& seen, std::string name, std::string text) {
  const auto found = seen.documents.find(name);
  if (found != seen.documents.end() && found->second == text) return;
  writes.push_back({.key = std::move(name), .value = std::move(text)});
}

}  // namespace

std::vector<Write> config_writes(const authority::MemberBook& book, const model::Network& network,
                                 const View& seen, const std::string& self) {
  std::vector<Write> writes;
  for (const auto& [name, ignored] : seen.network.port_groups) {
    if (network.port_groups.contains(name)) continue;
    writes.push_back({.key = inventory::port_group_document(name), .value = std::nullopt});
  }
  for (const auto& [name, ignored] : seen.network.switches) {
    if (network.switches.contains(name)) continue;
    writes.push_back({.key = inventory::switch_document(name), .value = std::nullopt});
  }
  for (const auto& [name, vds] : network.switches) {
    want(writes, seen, inventory::switch_document(name), inventory::print_switch(vds));
  }
  for (const auto& [name, group] : network.port_groups) {
    want(writes, seen, inventory::port_group_document(name), inventory::print_port_group(group));
  }
  std::vector<Write> members = member_writes(member_documents(book, self), seen, self);
  writes.insert(writes.end(), std::make_move_iterator(members.begin()),
                std::make_move_iterator(members.end()));
  return writes;
}

}  // namespace paravane::cluster
