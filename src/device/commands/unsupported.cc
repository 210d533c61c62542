#include "device/commands/handlers.h"

namespace paravane::device {

Result<Progress> refuse(CommandScope&, const Request&, Response&) {
  return fail(Errc::kUnsupported, "not supported by this device");
}

}  // namespace paravane::device
