// The exit statuses of the daemon, paravaned. The man page paravaned(8) lists them.

#pragma once

namespace paravane {

enum class ExitStatus : int {
  kOk = 0,
  kFailed = 1,     // could not start, or crashed: the log says why
  kUsage = 2,      // wrong command line
  kBadConfig = 3,  // paravaned.toml is broken
};

}  // namespace paravane
