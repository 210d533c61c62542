// The write permissions in etcd: each host is a user whose role reads all of Paravane's keys and
// writes only below its own prefix; the authority's host also writes the configuration.
//
// Owner thread only.

#pragma once

#include <string>

#include "base/result.h"
#include "inventory/etcd_client.h"

namespace paravane::inventory {

std::string host_user(const std::string& host);  // "paravane-host-NAME"

// With a user who may do all. Again for the same host: its new password.
// Errors: as EtcdClient's.
Status admit_host(EtcdClient& root, const std::string& host, const std::string& password,
                  bool writes_configuration);
// Its user and all that it has said of itself are gone.
Status dismiss_host(EtcdClient& root, const std::string& host);

// Makes the user root, and has etcd ask everybody who they are.
// REQUIRES: it does not yet.
Status close_etcd(EtcdClient& anybody, const std::string& root_password);

}  // namespace paravane::inventory
