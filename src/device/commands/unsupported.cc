#include "device/commands/handlers.h"

namespace paravane::device {

Result<Progress> refuse(CommandScope&, const Request&, Response&) {
  return fail(Errc::kUnsupported, "not offered by this device");
}

}  // namespace paravane::device
