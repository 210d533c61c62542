// The errors that an operator sees when an operation on the cluster fails, each with its remedy.
//
// Any thread.

#pragma once

#include <filesystem>
#include <string>

#include "authority/door_message.h"
#include "base/result.h"
#include "model/api_error.h"

namespace paravane::cluster {

std::unexpected<model::ApiError> no_cluster();
// A file in the state directory could not be written.
std::unexpected<model::ApiError> not_kept(const Error& error);
std::unexpected<model::ApiError> etcd_failed(const Error& error);
// The text in `cluster status` about an etcd that this host should run and that does not respond.
std::string own_etcd_away(const std::string& cause, const std::filesystem::path& data);
// The authority that created the token refused to admit this host.
std::unexpected<model::ApiError> join_refused(const std::string& door,
                                              const authority::DoorAnswer& answer);

// Logs a warning that the configured `[host] name` differs from this host's name in the cluster.
void warn_of_other_name(const std::string& member, const std::string& configured);

}  // namespace paravane::cluster
