// ApiClient: the management API from the customer's side, over the daemon's unix
// socket. It is Management as well, so a command does not see the difference.
//
// One request per connection; blocks, for a bounded time. Any thread, one call
// at a time.

#pragma once

#include <string>

#include "control/management.h"

namespace paravane::control {

// Also when the environment has no PARAVANE_SOCKET.
inline constexpr const char* kDefaultApiSocket = "/run/paravane/api.sock";

class ApiClient final : public Management {
 public:
  explicit ApiClient(std::string socket_path) : socket_path_(std::move(socket_path)) {}

  // Of the last call that failed: nobody answered at the socket.
  bool unreachable() const { return unreachable_; }

  ApiResult<VmStatus> add_vm(const VmSpec& spec) override;
  ApiResult<void> remove_vm(const std::string& name, bool force) override;
  ApiResult<VmStatus> set_vm(const std::string& name, const VmChange& change) override;
  ApiResult<VmStatus> add_adapter(const std::string& name, const AdapterRequest& request) override;
  ApiResult<VmStatus> remove_adapter(const std::string& name, std::uint32_t number,
                                     bool force) override;
  ApiResult<VmStatus> set_connected(const std::string& name, std::uint32_t number,
                                    bool connected) override;
  ApiResult<std::vector<VmStatus>> list_vms() override;
  ApiResult<VmStatus> find_vm(const std::string& name) override;
  ApiResult<DaemonStatus> status() override;
  ApiResult<Stats> stats(const std::optional<std::string>& vm) override;
  ApiResult<void> stop(bool force) override;

 private:
  // The body of a successful answer.
  ApiResult<std::string> call(const char* method, const std::string& path,
                              const std::string& body = {});
  ApiError no_answer(std::string cause);

  std::string socket_path_;
  bool unreachable_ = false;
};

}  // namespace paravane::control
