#include "ethernet/known_nics.h"

#include "ethernet/links.h"

namespace paravane::ethernet {

NicIdentity identity_of(const Link& nic) {
  return {.index = nic.index, .kind = nic.kind, .mac = nic.mac, .own_mac = nic.own_mac};
}

bool is_same_nic(const Link& link, const NicIdentity& known) {
  if (link.kind != known.kind || link.own_mac != known.own_mac) return false;
  if (link.kind.empty() && !known.own_mac.empty()) return true;
  return link.index == known.index && link.mac == known.mac;
}

}  // namespace paravane::ethernet
