// The GID table. The guest's RDMA core owns it and tells us each change.

#include <fmt/core.h>

#include "device/commands/handlers.h"
#include "device/objects.h"

namespace paravane::device {

Result<Progress> create_bind(CommandScope& scope, const Request& request, Response&) {
  const auto command = request.as<abi::CreateBindCommand>();
  const std::uint32_t index = command.index.get();
  if (index >= scope.config.limits.gids) {
    return fail(Errc::kResourceExhausted, fmt::format("no GID index {}", index));
  }
  const bool is_v1 = command.gid_type == static_cast<std::uint8_t>(verbs::GidType::kRoceV1);
  const bool is_v2 = command.gid_type == static_cast<std::uint8_t>(verbs::GidType::kRoceV2);
  if (!is_v1 && !is_v2) {
    return fail(Errc::kInvalidArgument, fmt::format("no GID type {}", command.gid_type));
  }
  const auto type = is_v1 ? verbs::GidType::kRoceV1 : verbs::GidType::kRoceV2;
  if (Status bound = scope.objects.bind_gid(index, {command.new_gid}, type); !bound) {
    return std::unexpected(bound.error());
  }
  return Progress::kDone;
}

Result<Progress> destroy_bind(CommandScope& scope, const Request& request, Response&) {
  const std::uint32_t index = request.as<abi::DestroyBindCommand>().index.get();
  if (index >= scope.config.held_limits().gids) {
    return fail(Errc::kOutOfRange, fmt::format("no GID index {}", index));
  }
  if (Status gone = scope.objects.unbind_gid(index); !gone) return std::unexpected(gone.error());
  return Progress::kDone;
}

}  // namespace paravane::device
