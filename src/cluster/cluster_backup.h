// ClusterBackup: a backup of a cluster's authority, the host that signs certificates and admits
// members. The backup can restore that host on another machine, or promote another host to be the
// authority. It contains the authority's key and certificate, its list of members and other
// records, the configuration that the hosts share in etcd, and the addresses of the hosts.
//
// The text (JSON) leaves this host only in encrypted form (authority/sealed_text.h).
//
// A plain value. Errors: kInvalidArgument (not a backup, a newer format, or inconsistent content).

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "authority/certificate.h"
#include "authority/succession.h"
#include "cluster/authority_book.h"
#include "cluster/cluster_files.h"
#include "cluster/kept_inventory.h"

namespace paravane::cluster {

struct ClusterBackup {
  authority::Seconds made{};
  std::string version;           // of the daemon that made it
  authority::KeyPair authority;  // its key and certificate
  std::string etcd_authority{};  // PEM; empty: the cluster's authority signed etcd's certificate
  Membership membership;         // of the host that had the authority
  AuthorityBook book;            // without tokens, which may have been used in the meantime
  InventoryFile inventory{};     // all of config/, and the addresses of hosts
  std::string succession{};      // authority/succession.h; empty: no host was ever promoted
};

std::string print_backup(const ClusterBackup& backup);
// Also checks that the key belongs to the certificate, and that everything belongs to one cluster.
Result<ClusterBackup> parse_backup(std::string_view text);

// The last promotion that the backup contains; term 0: it contains none.
authority::Succession succession_of(const ClusterBackup& backup);

// The part of an inventory that a backup contains.
InventoryFile backed_up(InventoryFile inventory);

}  // namespace paravane::cluster
