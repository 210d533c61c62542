// IbModule: a driver module of Mellanox's InfiniBand OFED Driver for VMware as its Installation
// Guide (Rev. 1.30) has it, with the parameters that an operator sets: which modules and parameters
// there are, and what the text of a module's options says.
//
// The text is what `esxcfg-module -s` takes: words "name=value" with spaces between them. The names
// of VI 3 are taken beside those of vSphere 4. A text with a wrong word is refused whole.
//
// Plain values and pure functions; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/ib_port_type.h"

namespace paravane::model {

inline constexpr std::size_t kMaxIbOptionsBytes = 1024;
inline constexpr std::size_t kMaxIbPorts = 32;  // of a host

enum class IbParameterForm : std::uint8_t {
  kNumber,       // "port_type_default=1"
  kPortNumbers,  // "RxQueueSize=4096,2048": one of each port, or one for all
  kPortTypes,    // "port_types=13,1,1,13,2,2": bus, port, type
  kSwitch,       // "netNetqueueEnabled=TRUE"
};

struct IbParameter {
  std::string_view name;
  std::string_view other_name;  // of VI 3; empty: it has none
  IbParameterForm form = IbParameterForm::kNumber;
  std::uint32_t least = 0;
  std::uint32_t most = 0;
  std::uint32_t initial = 0;
  std::string_view help;
};

struct IbModule {
  std::string_view name;
  std::string_view description;
  std::span<const IbParameter> parameters;
  bool can_be_disabled = true;
  // Without these it does not load (guide, 4.2.1).
  std::span<const std::string_view> needs;
};

inline constexpr std::string_view kModuleMlx4 = "mlx4_en";
inline constexpr std::string_view kModuleBasic = "ib_basic";
inline constexpr std::string_view kModuleIpoib = "ib_ipoib";
inline constexpr std::string_view kModuleSrp = "ib_srp";
inline constexpr std::string_view kModuleKernel = "vmkernel";

inline constexpr std::string_view kPortTypeDefault = "port_type_default";
inline constexpr std::string_view kPortTypes = "port_types";
inline constexpr std::string_view kMsiX = "mlx4_msi_x";
inline constexpr std::string_view kUplinkNum = "ipoib_uplink_num";
inline constexpr std::string_view kNetQueue = "NetQueue";
inline constexpr std::string_view kMaxSrpTargetsName = "max_srp_targets";
inline constexpr std::string_view kMaxVmhbasName = "max_vmhbas";
inline constexpr std::string_view kNetQueueEnabled = "netNetqueueEnabled";

// In the order in which they load.
std::span<const IbModule> ib_modules();
// nullptr: there is no such module.
const IbModule* find_ib_module(std::string_view name);
// Errors: kNotFound, with the name that was probably meant.
Status check_ib_module_name(std::string_view name);
// By either of its names; nullptr: the module has no such parameter.
const IbParameter* find_ib_parameter(const IbModule& module, std::string_view name);

// A triplet of port_types.
struct IbPortTypeWish {
  std::uint32_t bus = 0;
  std::uint32_t port = 0;
  IbPortType type = IbPortType::kInfiniband;

  friend bool operator==(const IbPortTypeWish&, const IbPortTypeWish&) = default;
};

// What the options of one module say.
struct IbOptions {
  // By the parameter's name of vSphere 4; more than one number: of the ports in their order.
  std::map<std::string, std::vector<std::uint32_t>, std::less<>> numbers{};
  std::vector<IbPortTypeWish> port_types{};

  friend bool operator==(const IbOptions&, const IbOptions&) = default;
};

// Errors: kInvalidArgument (the word that is wrong).
Result<IbOptions> parse_ib_options(const IbModule& module, std::string_view text);

// The value of a parameter at a port, of which the first is 0: its initial one where the options
// say nothing of it. REQUIRES: the module has the parameter.
std::uint32_t ib_value(const IbModule& module, const IbOptions& options, std::string_view parameter,
                       std::size_t port = 0);

// The text with one parameter set to a value, and all else as it was. The result is not judged.
std::string with_ib_option(const IbModule& module, std::string_view text, std::string_view name,
                           std::string_view value);

}  // namespace paravane::model
