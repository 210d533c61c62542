#include "model/capture.h"

#include <fmt/core.h>

#include "model/machine.h"
#include "model/vm.h"

namespace paravane::model {

Status check_capture(const CaptureSpec& spec) {
  if (spec.vm.empty() == spec.uplink.empty())
    return fail(Errc::kInvalidArgument, "a capture is of either a VM or an uplink");
  if (spec.uplink.empty()) return check_name(spec.vm);
  if (is_ipoib_uplink_name(spec.uplink)) return {};
  return fail(
      Errc::kInvalidArgument,
      fmt::format("\"{}\" is not the name of a port of an InfiniBand adapter: these are {}{} "
                  "to {}{}",
                  spec.uplink, kNicPrefix, kFirstIpoibUplink, kNicPrefix,
                  kFirstIpoibUplink + kMaxIpoibUplinks - 1));
}

const std::string& captured(const CaptureSpec& spec) {
  return spec.uplink.empty() ? spec.vm : spec.uplink;
}

}  // namespace paravane::model
