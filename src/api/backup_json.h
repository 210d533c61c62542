// Requests and responses about backups of a cluster, as JSON for the API. docs/api.md shows an
// example of each.
//
// Stateless, any thread.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/cluster.h"

namespace paravane::api {

// The bytes of the backup are in Base64.
nlohmann::json to_json(const model::SealedBackup& backup);
nlohmann::json to_json(const model::BackupRequest& asked);
nlohmann::json to_json(const model::BackupSummary& summary);
nlohmann::json to_json(const model::AcceptSummary& summary);

// Refuses unknown keys. Errors: kInvalidArgument.
Result<model::BackupRequest> backup_request_from_json(const nlohmann::json& value);
// Parses {"passphrase": "..."}.
Result<std::string> passphrase_from_json(const nlohmann::json& value);

// Ignores unknown keys, because the daemon may be newer than its client.
Result<model::SealedBackup> sealed_backup_from_json(const nlohmann::json& value);
Result<model::BackupSummary> backup_summary_from_json(const nlohmann::json& value);
Result<model::AcceptSummary> accept_summary_from_json(const nlohmann::json& value);

}  // namespace paravane::api
