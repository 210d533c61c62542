// FakeCluster: a host of a cluster that is not there. It notes what it is asked.

#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <vector>

#include "model/cluster.h"

namespace paravane {

class FakeCluster final : public model::ClusterManagement {
 public:
  model::ApiResult<model::ClusterStatus> init_cluster(const model::ClusterInit& init) override {
    asked.push_back("init " + init.host +
                    (init.etcd ? " at " + fmt::to_string(fmt::join(init.etcd->urls, " ")) : ""));
    if (fault) return std::unexpected(*fault);
    status = {.member = true, .cluster = "c", .host = init.host};
    return status;
  }
  model::ApiResult<model::JoinToken> make_token(const model::TokenRequest& request) override {
    asked.push_back("token " + request.host + " " + std::to_string(request.valid_s));
    if (fault) return std::unexpected(*fault);
    return model::JoinToken{.token = "t", .host = request.host, .valid_s = request.valid_s};
  }
  model::ApiResult<model::ClusterStatus> join_cluster(const std::string& token) override {
    asked.push_back("join " + token);
    if (fault) return std::unexpected(*fault);
    return status;
  }
  model::ApiResult<void> leave_cluster(bool force) override {
    asked.push_back(force ? "leave by force" : "leave");
    if (fault) return std::unexpected(*fault);
    return {};
  }
  model::ApiResult<void> remove_host(const std::string& host) override {
    asked.push_back("remove " + host);
    if (fault) return std::unexpected(*fault);
    return {};
  }
  model::ApiResult<model::AcceptSummary> inspect_accept() override {
    asked.push_back("inspect accept");
    if (fault) return std::unexpected(*fault);
    return to_accept;
  }
  model::ApiResult<model::ClusterStatus> accept_inventory() override {
    asked.push_back("accept");
    if (fault) return std::unexpected(*fault);
    return status;
  }
  model::ApiResult<model::SealedBackup> back_up_cluster(const std::string& passphrase) override {
    asked.push_back("backup " + passphrase);
    if (fault) return std::unexpected(*fault);
    return model::SealedBackup{.sealed = "sealed"};
  }
  model::ApiResult<model::BackupSummary> inspect_backup(
      const model::BackupRequest& request) override {
    asked.push_back("inspect " + request.sealed + " " + request.passphrase);
    if (fault) return std::unexpected(*fault);
    return summary;
  }
  model::ApiResult<model::ClusterStatus> restore_cluster(
      const model::BackupRequest& request) override {
    asked.push_back("restore " + request.sealed + " " + request.passphrase);
    if (fault) return std::unexpected(*fault);
    return status;
  }
  model::ApiResult<model::ClusterStatus> promote_host(
      const model::BackupRequest& request) override {
    asked.push_back("promote " + request.sealed + " " + request.passphrase);
    if (fault) return std::unexpected(*fault);
    return status;
  }
  model::ApiResult<model::ClusterStatus> cluster_status() override {
    if (fault) return std::unexpected(*fault);
    return status;
  }

  model::ApiResult<std::vector<model::ClusterAdapter>> cluster_adapters() override {
    if (fault) return std::unexpected(*fault);
    return adapters;
  }

  model::ClusterStatus status;
  std::vector<model::ClusterAdapter> adapters;
  model::BackupSummary summary;
  model::AcceptSummary to_accept;
  std::vector<std::string> asked;
  std::optional<model::ApiError> fault;  // the answer to everything
};

}  // namespace paravane
