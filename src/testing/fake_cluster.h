// FakeCluster: a host of a cluster that is not there. It notes what it is asked.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/cluster.h"

namespace paravane {

class FakeCluster final : public control::ClusterManagement {
 public:
  control::ApiResult<control::ClusterStatus> init_cluster(
      const control::ClusterInit& init) override {
    asked.push_back("init " + init.host + (init.etcd ? " at " + init.etcd->url : ""));
    if (fault) return std::unexpected(*fault);
    status = {.member = true, .cluster = "c", .host = init.host};
    return status;
  }
  control::ApiResult<control::JoinToken> make_token(const control::TokenRequest& request) override {
    asked.push_back("token " + request.host + " " + std::to_string(request.valid_s));
    if (fault) return std::unexpected(*fault);
    return control::JoinToken{.token = "t", .host = request.host, .valid_s = request.valid_s};
  }
  control::ApiResult<control::ClusterStatus> join_cluster(const std::string& token) override {
    asked.push_back("join " + token);
    if (fault) return std::unexpected(*fault);
    return status;
  }
  control::ApiResult<void> leave_cluster(bool force) override {
    asked.push_back(force ? "leave by force" : "leave");
    if (fault) return std::unexpected(*fault);
    return {};
  }
  control::ApiResult<void> remove_host(const std::string& host) override {
    asked.push_back("remove " + host);
    if (fault) return std::unexpected(*fault);
    return {};
  }
  control::ApiResult<control::ClusterStatus> cluster_status() override {
    if (fault) return std::unexpected(*fault);
    return status;
  }

  control::ClusterStatus status;
  std::vector<std::string> asked;
  std::optional<control::ApiError> fault;  // the answer to everything
};

}  // namespace paravane
