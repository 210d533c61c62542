// The changes that an operator may make to an existing VM: its hardware version, the protocols of
// its adapters, its quotas, and the number of adapters. Plain values, and the rules for their
// consequences.

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

// What is not named stays as it is.
struct VmChange {
  std::optional<std::uint32_t> hw_version{};
  std::optional<Protocol> protocol{};
  std::optional<std::uint32_t> adapter{};   // whose protocol or port group; unset: every one's
  std::vector<LimitChange> limits{};        // each field once
  std::optional<std::string> port_group{};  // empty: none
  VmMachineChange machine{};
  // What VmStatus::revision said of the VM that the change was made for; unset: however
  // it is.
  std::optional<std::string> revision{};

  friend bool operator==(const VmChange&, const VmChange&) = default;
};

// Whether adapters move to other port groups and nothing else changes, which they may
// while the VM runs.
bool only_moves(const VmChange& change);

// What can be said without knowing the VM. Errors: kInvalidArgument.
Status check_change(const VmChange& change);

// The VM as it would be. Protocols stay what they were unless the change names
// them: an upgrade keeps RoCE v1, and a VM that speaks v2 is downgraded only
// together with its protocol.
// `revision`: the VM's, for a change that names one.
// REQUIRES: check_change(). Errors: kChanged, kNotFound (no such adapter), kInvalidRequest.
ApiResult<VmSpec> apply(const VmChange& change, const VmSpec& vm, std::string_view revision = {});

// One more adapter. Unset: the MAC is chosen; the hardware version's protocol.
struct AdapterRequest {
  std::optional<MacAddress> mac{};
  std::optional<Protocol> protocol{};
  std::string port_group{};

  friend bool operator==(const AdapterRequest&, const AdapterRequest&) = default;
};

// With the lowest number that is free. Errors: kLimitReached, kInvalidRequest.
ApiResult<AdapterSpec> next_adapter(const AdapterRequest& request, const VmSpec& vm);

// REQUIRES: there is none of its number; or there is one.
void insert_adapter(const AdapterSpec& adapter, VmSpec& vm);
void erase_adapter(std::uint32_t number, VmSpec& vm);

}  // namespace paravane::model
