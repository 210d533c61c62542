// ControlDoor: Management for any thread: carries each request to the control
// thread and waits for the answer, for a bounded time.

#pragma once

#include <chrono>

#include "control/management.h"
#include "daemon/mailbox.h"

namespace paravane::daemon {

class ControlDoor final : public control::Management {
 public:
  // Both outlive the door; `host` is used on the thread that `mailbox` belongs to.
  ControlDoor(control::Management& host, Mailbox& mailbox) : host_(host), mailbox_(mailbox) {}

  control::ApiResult<control::VmStatus> add_vm(const control::VmSpec& spec) override {
    return carry([this, spec] { return host_.add_vm(spec); });
  }
  control::ApiResult<void> remove_vm(const std::string& name, bool force) override {
    return carry([this, name, force] { return host_.remove_vm(name, force); });
  }
  control::ApiResult<control::VmStatus> set_vm(const std::string& name,
                                               const control::VmChange& change) override {
    return carry([this, name, change] { return host_.set_vm(name, change); });
  }
  control::ApiResult<control::VmStatus> add_adapter(
      const std::string& name, const control::AdapterRequest& request) override {
    return carry([this, name, request] { return host_.add_adapter(name, request); });
  }
  control::ApiResult<control::VmStatus> remove_adapter(const std::string& name,
                                                       std::uint32_t number, bool force) override {
    return carry([this, name, number, force] { return host_.remove_adapter(name, number, force); });
  }
  control::ApiResult<control::VmStatus> set_connected(const std::string& name, std::uint32_t number,
                                                      bool connected) override {
    return carry(
        [this, name, number, connected] { return host_.set_connected(name, number, connected); });
  }
  control::ApiResult<std::vector<control::VmStatus>> list_vms() override {
    return carry([this] { return host_.list_vms(); });
  }
  control::ApiResult<control::VmStatus> find_vm(const std::string& name) override {
    return carry([this, name] { return host_.find_vm(name); });
  }
  control::ApiResult<control::DaemonStatus> status() override {
    return carry([this] { return host_.status(); });
  }
  control::ApiResult<control::Stats> stats(const std::optional<std::string>& vm) override {
    return carry([this, vm] { return host_.stats(vm); });
  }
  control::ApiResult<void> stop(bool force) override {
    return carry([this, force] { return host_.stop(force); });
  }

 private:
  // Above what the control thread itself waits for a worker.
  static constexpr std::chrono::milliseconds kLimit{15'000};

  template <typename Function>
  std::invoke_result_t<Function> carry(Function function) {
    auto answer = mailbox_.ask(std::move(function), kLimit);
    if (answer) return std::move(*answer);
    return control::refuse(control::ApiErrorCode::kBusy, "the daemon did not answer in time",
                           "Ask again; see with paravane vm list what was done.");
  }

  control::Management& host_;
  Mailbox& mailbox_;
};

}  // namespace paravane::daemon
