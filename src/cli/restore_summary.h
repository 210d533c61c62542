// The text that `paravane cluster restore` and `paravane cluster promote` show the operator. The
// commands print a summary of the backup before they ask for confirmation, and the result
// afterwards.

#pragma once

#include <chrono>
#include <string>

#include "model/cluster.h"

namespace paravane::cli {

std::string print_backup_summary(const model::BackupSummary& backup, std::chrono::sys_seconds now);
// A warning, for restore only, that hosts which were removed after the backup was made become
// members again.
std::string warn_of_members(const model::BackupSummary& backup);

std::string print_accept_summary(const model::AcceptSummary& summary);
// Whether each host whose generation is valid follows the configuration of this host.
bool all_follow(const model::AcceptSummary& summary, const model::ClusterStatus& status);
// Lists the hosts that follow the configuration, and those that do not follow it yet.
std::string print_followers(const model::AcceptSummary& summary,
                            const model::ClusterStatus& status);

}  // namespace paravane::cli
