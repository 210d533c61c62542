#include "connection/reject_reason.h"

#include "wire/infiniband/communication.h"

namespace paravane::connection {

namespace reject_reason = wire::infiniband::reject_reason;

ReasonText text_of(std::uint16_t reason) {
  switch (reason) {
    case reject_reason::kNoQueuePair:
    case reject_reason::kNoEndToEndContext:
      return {.cause = "the target has no queue pair left",
              .remedy =
                  "end connections to it that are not needed, or raise the number of queue "
                  "pairs of its adapter"};
    case reject_reason::kNoResources:
      return {.cause = "the target lacks memory or other resources for one more connection",
              .remedy = "see the target's kernel log, and end connections that are not needed"};
    case reject_reason::kTimeout:
      return {.cause = "the target waited too long for a message of the connection",
              .remedy = "look for lost packets between the two ports"};
    case reject_reason::kUnsupported:
      return {
          .cause = "the target does not support a connection of this kind",
          .remedy = "check that an SRP target for InfiniBand or RoCE listens at this service ID"};
    case reject_reason::kInvalidCommunicationId:
    case reject_reason::kInvalidInstance:
      return {.cause = "the target does not know the connection any more",
              .remedy = "connect again"};
    case reject_reason::kInvalidServiceId:
      return {.cause = "no SRP target listens there at this service ID",
              .remedy =
                  "check that the target is running and enabled, and that the service ID is "
                  "the one that it shows"};
    case reject_reason::kInvalidTransport:
      return {.cause = "the target does not take reliable connections at this service ID",
              .remedy = "check the service ID"};
    case reject_reason::kStaleConnection:
      return {.cause = "the target still has an earlier connection of this queue pair",
              .remedy =
                  "connect again with another queue pair; the target ends the earlier "
                  "connection meanwhile"};
    case reject_reason::kInvalidGid:
      return {.cause =
                  "the target has no route to the GID that asks, or does not have the GID that "
                  "was asked",
              .remedy =
                  "check that the target's RDMA interface has an IP address in the same "
                  "network, and that this address is the one that was given"};
    case reject_reason::kInvalidLid:
    case reject_reason::kInvalidLevel:
    case reject_reason::kInvalidTrafficClass:
    case reject_reason::kInvalidHopLimit:
    case reject_reason::kInvalidPacketRate:
    case reject_reason::kInvalidFlowLabel:
      return {
          .cause = "the target cannot use the path that was offered",
          .remedy = "check that both ports are in one network, and see the target's kernel log"};
    case reject_reason::kPortAndCmRedirect:
    case reject_reason::kPortRedirect:
      return {.cause = "the target wants connections at another of its ports",
              .remedy = "use the target's other port"};
    case reject_reason::kInvalidMtu:
      return {.cause = "the target cannot take packets of the MTU that was offered",
              .remedy = "set the same MTU at both ports"};
    case reject_reason::kTooFewResponderResources:
      return {.cause = "the target needs more RDMA reads at once than were offered",
              .remedy = "raise the number of RDMA reads that are served at once"};
    case reject_reason::kConsumer:
      return {.cause = "the target refused the login",
              .remedy = "see the reason that it gives for SRP, and its kernel log"};
    case reject_reason::kInvalidRnrRetry:
      return {.cause = "the target cannot use the number of retries that was offered",
              .remedy = "see the target's kernel log"};
    case reject_reason::kDuplicateLocalId:
      return {.cause = "the target has another connection of the same communication ID",
              .remedy = "connect again"};
    case reject_reason::kInvalidClassVersion:
      return {.cause = "the target speaks another version of connection management",
              .remedy = "use a target of InfiniBand 1.2 or later"};
    // Of kinds of connection, and of alternate paths, that are not asked for here.
    default:
      return {.cause =
                  "the target rejected the connection for a reason that does not belong to what "
                  "was asked",
              .remedy = "see the target's kernel log"};
  }
}

std::string sentence_of(std::uint16_t reason) {
  const ReasonText text = text_of(reason);
  return std::string(text.cause) + " (reject reason " + std::to_string(reason) +
         "): " + std::string(text.remedy);
}

}  // namespace paravane::connection
