// What `paravane cluster restore` and `promote` say before they ask whether to go on, and what
// comes of it: lines for a person.

#pragma once

#include <chrono>
#include <string>

#include "model/cluster.h"

namespace paravane::cli {

std::string print_backup_summary(const model::BackupSummary& backup, std::chrono::sys_seconds now);
// Of a restoration alone: which hosts are members by it, though they were removed since.
std::string warn_of_members(const model::BackupSummary& backup);

std::string print_accept_summary(const model::AcceptSummary& summary);
// Whether each host whose number counts follows what this one has.
bool all_follow(const model::AcceptSummary& summary, const model::ClusterStatus& status);
// Which hosts follow, and which do not yet.
std::string print_followers(const model::AcceptSummary& summary,
                            const model::ClusterStatus& status);

}  // namespace paravane::cli
