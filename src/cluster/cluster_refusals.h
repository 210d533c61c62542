// The error messages and remedies for an operator when an operation of the cluster fails.

#pragma once

#include <filesystem>
#include <string>

#include "authority/door_message.h"
#include "base/result.h"
#include "model/api_error.h"

namespace paravane::cluster {

std::unexpected<model::ApiError> no_cluster();
// A file of the state directory.
std::unexpected<model::ApiError> not_kept(const Error& error);
std::unexpected<model::ApiError> etcd_failed(const Error& error);
// What `cluster status` says of an etcd that this host should run and that stays away.
std::string own_etcd_away(const std::string& cause, const std::filesystem::path& data);
// By the authority that has made the token.
std::unexpected<model::ApiError> join_refused(const std::string& door,
                                              const authority::DoorAnswer& answer);

// Logs that `[host] name`, as it is configured, is not the name that it has as a member.
void warn_of_other_name(const std::string& member, const std::string& configured);

}  // namespace paravane::cluster
