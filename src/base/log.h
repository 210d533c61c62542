// Logging: spdlog under the names the rooms use. Lower case, subject first
// ("vm1: qp 0x11: ..."), QP numbers in hex. What a guest can cause repeatedly
// goes through a LogLimit. Where lines go is decided in daemon/.

#pragma once

#include <spdlog/spdlog.h>

namespace paravane::log {

using spdlog::debug;
using spdlog::error;
using spdlog::info;
using spdlog::warn;

}  // namespace paravane::log
