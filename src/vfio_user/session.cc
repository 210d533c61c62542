#include "vfio_user/session.h"

#include <algorithm>

#include "vfio_user/version.h"

namespace paravane::vfio_user {
namespace {

constexpr std::uint16_t kOurMinor = 1;

bool takes_descriptors(Command command) {
  return command == Command::kDmaMap || command == Command::kSetIrqs;
}

}  // namespace

Session::Session(const Parts& parts)
    : function_(parts.function),
      regions_(parts.function, parts.counters),
      dma_(parts.function.device(), parts.memory, parts.counters),
      irqs_(parts.interrupts) {}

Handled Session::handle(Request& request, Reply& reply, ReplyToken token) {
  reply.clear();
  why_.clear();
  if ((request.header.flags.get() & Header::kTypeMask) != Header::kTypeCommand) {
    why_ = "the message is not a command";
    return refuse(EINVAL);
  }
  if (!negotiated_) return introduce(request, reply);
  if (request.fds_lost) {
    why_ = "too many file descriptors were sent, or none are left";
    return refuse(EMFILE);
  }
  if (!request.fds.empty() && !takes_descriptors(request.command())) {
    why_ = "file descriptors were sent with a command that accepts none";
    return refuse(EINVAL);
  }
  return serve(request, reply, token);
}

Handled Session::introduce(const Request& request, Reply& reply) {
  if (request.command() != Command::kVersion) {
    farewell_ = "command " + std::to_string(request.header.command.get()) + " before VERSION";
    return refuse(EINVAL);
  }
  if (request.posted()) {
    farewell_ = "VERSION without a request for a reply";
    return refuse(EINVAL);
  }
  return version(request, reply);
}

Handled Session::version(const Request& request, Reply& reply) {
  const std::expected<ClientLimits, std::string> client = read_version(request.payload);
  if (!client) {
    farewell_ = client.error();
    return refuse(EINVAL);
  }
  regions_.set_limits(*client);
  reply.append(VersionNumbers{.major = {}, .minor = Le16(std::min(client->minor, kOurMinor))});
  const std::size_t frame = sizeof(Header) + sizeof(VersionNumbers) + 1;
  const std::size_t size = request.header.size.get();
  const std::string json = version_json(size > frame ? size - frame : 0);
  const std::span<std::byte> text = reply.append_space(json.size() + 1);  // and a NUL
  std::ranges::copy(std::as_bytes(std::span(json)), text.begin());
  negotiated_ = true;
  return Answer::kNow;
}

Handled Session::get_info(const Request& request, Reply& reply) const {
  const auto asked = leading<DeviceInfo>(request.payload);
  if (!asked || asked->argsz.get() < sizeof(DeviceInfo)) return refuse(EINVAL);
  reply.append(DeviceInfo{.argsz = Le32(sizeof(DeviceInfo)),
                          .flags = Le32(DeviceInfo::kReset | DeviceInfo::kPci),
                          .regions = Le32(kRegions),
                          .irqs = Le32(kIrqIndices)});
  return Answer::kNow;
}

Handled Session::serve(Request& request, Reply& reply, ReplyToken token) {
  switch (request.command()) {
    case Command::kVersion: return refuse(EINVAL);  // once is enough
    case Command::kDmaMap: return dma_.map(request, why_);
    case Command::kDmaUnmap: return dma_.unmap(request, reply, token);
    case Command::kGetInfo: return get_info(request, reply);
    case Command::kGetRegionInfo: return regions_.info(request, reply);
    case Command::kGetRegionIoFds: return regions_.io_fds(request, reply);
    case Command::kGetIrqInfo: return irqs_.info(request, reply);
    case Command::kSetIrqs: return irqs_.set(request);
    case Command::kRegionRead: return regions_.read(request, reply);
    case Command::kRegionWrite: return regions_.write(request, reply, token);
    case Command::kReset: return function_.reset(ResetCause::kMachineReset, token);
    case Command::kDeviceFeature: return refuse(ENOTTY);  // what VFIO says: no such feature
    case Command::kRegionWriteMulti:                      // never offered
    case Command::kDmaRead:
    case Command::kDmaWrite: return refuse(ENOTSUP);  // and only a server may ask for these
  }
  return refuse(ENOTSUP);
}

}  // namespace paravane::vfio_user
