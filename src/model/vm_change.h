// Defines plain values for the changes that an operator may make to an existing VM, and the rules
// for them. A change can affect the hardware version, the protocols and port groups of the
// adapters, the quotas, the virtual hardware, or the number of adapters.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/api_error.h"
#include "model/vm.h"
#include "model/vm_machine.h"

namespace paravane::model {

struct LimitChange {
  const LimitField* field = nullptr;   // one of kLimitFields
  std::optional<std::uint32_t> value;  // unset: the device's default again

  friend bool operator==(const LimitChange&, const LimitChange&) = default;
};

// A member that is not set leaves the property unchanged.
struct VmChange {
  std::optional<std::uint32_t> hw_version{};
  std::optional<Protocol> protocol{};
  std::optional<std::uint32_t> adapter{};   // the adapter to change; unset: all adapters
  std::vector<LimitChange> limits{};        // each field once
  std::optional<std::string> port_group{};  // empty: none
  VmMachineChange machine{};
  // VmStatus::revision of the VM for which the change was made; if the VM has changed since, the
  // change is refused. Unset: not checked.
  std::optional<std::string> revision{};

  friend bool operator==(const VmChange&, const VmChange&) = default;
};

// Whether the change only moves adapters to other port groups, which is allowed while the VM is
// running.
bool only_moves(const VmChange& change);

// Checks what can be checked without knowing the VM. Errors: kInvalidArgument.
Status check_change(const VmChange& change);

// Returns the VM as it would be after the change. The protocol of an adapter changes only if the
// change names it: an upgrade keeps RoCE v1, and a VM with RoCE v2 can be downgraded only if its
// protocol is changed, too. `revision`: the VM's, for a change that names one. REQUIRES:
// check_change(). Errors: kChanged, kNotFound (no such adapter), kInvalidRequest.
ApiResult<VmSpec> apply(const VmChange& change, const VmSpec& vm, std::string_view revision = {});

// A request for one more adapter. If they are not set, the MAC address is chosen, and the protocol
// is the default of the VM's hardware version.
struct AdapterRequest {
  std::optional<MacAddress> mac{};
  std::optional<Protocol> protocol{};
  std::string port_group{};

  friend bool operator==(const AdapterRequest&, const AdapterRequest&) = default;
};

// Returns the new adapter, with the lowest free number. Errors: kLimitReached, kInvalidRequest.
ApiResult<AdapterSpec> next_adapter(const AdapterRequest& request, const VmSpec& vm);

// REQUIRES: insert: the VM has no adapter with this number; erase: it has one.
void insert_adapter(const AdapterSpec& adapter, VmSpec& vm);
void erase_adapter(std::uint32_t number, VmSpec& vm);

}  // namespace paravane::model
