#include "verbs/types.h"

namespace paravane::verbs {

std::string_view to_string(QpState state) {
  switch (state) {
    case QpState::kReset: return "RESET";
    case QpState::kInit: return "INIT";
    case QpState::kReadyToReceive: return "RTR";
    case QpState::kReadyToSend: return "RTS";
    case QpState::kSendQueueDrain: return "SQD";
    case QpState::kSendQueueError: return "SQE";
    case QpState::kError: return "ERR";
  }
  return "?";
}

std::string_view to_string(WcStatus status) {
  switch (status) {
    case WcStatus::kSuccess: return "success";
    case WcStatus::kLocalLengthError: return "local length error";
    case WcStatus::kLocalQpOperationError: return "local QP operation error";
    case WcStatus::kLocalProtectionError: return "local protection error";
    case WcStatus::kFlushed: return "flushed";
    case WcStatus::kMemoryWindowBindError: return "memory window bind error";
    case WcStatus::kBadResponse: return "bad response";
    case WcStatus::kLocalAccessError: return "local access error";
    case WcStatus::kRemoteInvalidRequest: return "remote invalid request";
    case WcStatus::kRemoteAccessError: return "remote access error";
    case WcStatus::kRemoteOperationError: return "remote operation error";
    case WcStatus::kRetryExceeded: return "transport retries exceeded";
    case WcStatus::kRnrRetryExceeded: return "RNR retries exceeded";
    case WcStatus::kRemoteAborted: return "remote aborted";
    case WcStatus::kFatal: return "fatal";
    case WcStatus::kGeneral: return "general error";
  }
  return "?";
}

}  // namespace paravane::verbs
