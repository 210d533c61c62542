// The one port. QUERY_PORT is hot: the user-space provider sends one for every
// address handle.

#include "device/commands/handlers.h"
#include "verbs/types.h"

namespace paravane::device {
namespace {

constexpr std::uint8_t kPort = 1;
constexpr std::uint16_t kDefaultPkey = 0xFFFF;
constexpr std::uint16_t kPkeys = 1;
constexpr std::uint32_t kMtu4096 = 5;

}  // namespace

Result<Progress> query_port(CommandScope& scope, const Request& request, Response& response) {
  if (request.as<abi::QueryPortCommand>().port_num != kPort) {
    return fail(Errc::kInvalidArgument, "no such port");
  }
  abi::QueryPortResponse answer{};
  answer.state.set(scope.link_up ? abi::kPortActive : abi::kPortDown);
  answer.max_mtu.set(kMtu4096);
  answer.active_mtu.set(scope.active_mtu);
  answer.gid_tbl_len.set(scope.config.limits.gids);
  answer.port_cap_flags.set(abi::kPortCmSupported | abi::kPortIpBasedGids);
  answer.max_msg_sz.set(verbs::kMaxMessageBytes);
  answer.qkey_viol_cntr.set(
      static_cast<std::uint32_t>(scope.adapter.counters().qkey_violations.value()));
  answer.pkey_tbl_len.set(kPkeys);
  answer.max_vl_num = 1;
  answer.active_width = abi::kWidth4x;
  answer.active_speed = abi::kSpeedEdr;
  answer.phys_state = scope.link_up ? abi::kPhysLinkUp : abi::kPhysDisabled;
  response.set(answer);
  return Progress::kDone;
}

Result<Progress> query_pkey(CommandScope&, const Request& request, Response& response) {
  const auto command = request.as<abi::QueryPkeyCommand>();
  if (command.port_num != kPort) return fail(Errc::kInvalidArgument, "no such port");
  if (command.index >= kPkeys) return fail(Errc::kOutOfRange, "no such P_Key");
  abi::QueryPkeyResponse answer{};
  answer.pkey.set(kDefaultPkey);
  response.set(answer);
  return Progress::kDone;
}

}  // namespace paravane::device
