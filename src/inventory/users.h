// Manages the users of etcd and their permissions. Each host of the cluster has a user that can
// read all of Paravane's keys and write only the keys below the host's own prefix. The user of the
// authority's host can also write the configuration.
//
// Owner thread only.

#pragma once

#include <string>

#include "base/result.h"
#include "inventory/etcd_client.h"

namespace paravane::inventory {

std::string host_user(const std::string& host);  // "paravane-host-NAME"

// Creates the user of a host, or sets a new password for it. `root` is logged in as a user with all
// permissions. Errors: as EtcdClient's.
Status admit_host(EtcdClient& root, const std::string& host, const std::string& password,
                  bool writes_configuration);
// Deletes the user of a host and all keys that the host has published.
Status dismiss_host(EtcdClient& root, const std::string& host);

// Creates the user root and enables authentication. REQUIRES: authentication is disabled.
Status close_etcd(EtcdClient& anybody, const std::string& root_password);

}  // namespace paravane::inventory
