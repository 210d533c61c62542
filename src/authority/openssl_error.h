// openssl_failed(): the error for a failed OpenSSL call. It takes the reason from OpenSSL's error
// queue and clears that queue.
//
// Any thread; the queue belongs to the calling thread.

#pragma once

#include <fmt/core.h>
#include <openssl/err.h>

#include "base/result.h"

namespace paravane::authority {

inline std::unexpected<Error> openssl_failed(const char* what) {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return fail(Errc::kIo, fmt::format("cannot {}: {}", what,
                                     reason == nullptr ? "OpenSSL gave no reason" : reason));
}

}  // namespace paravane::authority
