// QueuePair::modify(): judge everything, then act, then take the new state.

#include <optional>

#include "verbs/grh.h"
#include "verbs/qp_state.h"
#include "verbs/queue_pair.h"
#include "verbs/queue_pair_impl.h"

namespace paravane::verbs {
namespace {

constexpr std::uint32_t kMinPathMtu = 1;  // 256 bytes
constexpr std::uint32_t kMaxPathMtu = 5;  // 4096 bytes

Status check_values(const QpAttributes& given, QpAttrMask mask) {
  const auto fits = [mask](QpAttr attribute, std::uint32_t value, std::uint32_t lowest,
                           std::uint32_t highest) {
    return (mask & attribute) == 0 || (value >= lowest && value <= highest);
  };
  const bool all_fit =
      fits(kAttrPathMtu, given.path_mtu, kMinPathMtu, kMaxPathMtu) &&
      fits(kAttrDestQpn, given.dest_qpn, 0, kQpNumberMask) &&
      fits(kAttrReceivePsn, given.receive_psn, 0, 0xFFFFFF) &&
      fits(kAttrSendPsn, given.send_psn, 0, 0xFFFFFF) &&
      fits(kAttrPkeyIndex, given.pkey_index, 0, 0) && fits(kAttrPort, given.port, 1, 1) &&
      fits(kAttrMinRnrTimer, given.min_rnr_timer, 0, 31) &&
      fits(kAttrTimeout, given.timeout, 0, 31) && fits(kAttrRetryCount, given.retry_count, 0, 7) &&
      fits(kAttrRnrRetry, given.rnr_retry, 0, 7);
  if (all_fit) return {};
  return fail(Errc::kInvalidArgument, "modify queue pair: an attribute is out of range");
}

// A state that the caller believes in must be the real one, but for the one that
// datagram users assume after any failed send whether or not we left RTS.
bool is_belief_acceptable(QpType type, QpState real, const QpAttributes& given, QpAttrMask mask,
                          QpState to) {
  if ((mask & kAttrCurrentState) == 0 || given.current_state == real) return true;
  return type != QpType::kReliableConnected && to == QpState::kReadyToSend &&
         given.current_state == QpState::kSendQueueError && real == QpState::kReadyToSend;
}

template <typename T>
void take(T& ours, const T& given, QpAttrMask mask, QpAttr attribute) {
  if ((mask & attribute) != 0) ours = given;
}

void take_all(QpAttributes& ours, const QpAttributes& given, QpAttrMask mask) {
  take(ours.path_mtu, given.path_mtu, mask, kAttrPathMtu);
  take(ours.qkey, given.qkey, mask, kAttrQkey);
  take(ours.receive_psn, given.receive_psn, mask, kAttrReceivePsn);
  take(ours.send_psn, given.send_psn, mask, kAttrSendPsn);
  take(ours.dest_qpn, given.dest_qpn, mask, kAttrDestQpn);
  take(ours.access, given.access, mask, kAttrAccess);
  take(ours.pkey_index, given.pkey_index, mask, kAttrPkeyIndex);
  take(ours.port, given.port, mask, kAttrPort);
  take(ours.max_reads, given.max_reads, mask, kAttrMaxReads);
  take(ours.max_dest_reads, given.max_dest_reads, mask, kAttrMaxDestReads);
  take(ours.min_rnr_timer, given.min_rnr_timer, mask, kAttrMinRnrTimer);
  take(ours.timeout, given.timeout, mask, kAttrTimeout);
  take(ours.retry_count, given.retry_count, mask, kAttrRetryCount);
  take(ours.rnr_retry, given.rnr_retry, mask, kAttrRnrRetry);
  take(ours.av, given.av, mask, kAttrAddress);
}

}  // namespace

Status QueuePair::modify(const QpAttributes& attributes, QpAttrMask mask, Instant /*now*/) {
  Impl& impl = *impl_;
  const QpState from = impl.state;
  const QpState to = (mask & kAttrState) != 0 ? attributes.state : from;
  if (!is_belief_acceptable(impl.spec.type, from, attributes, mask, to)) {
    return fail(Errc::kBadState,
                "modify queue pair: the queue pair is not in the expected current state");
  }
  if (Status legal = check_transition(impl.spec.type, from, to, mask); !legal) return legal;
  if (Status in_range = check_values(attributes, mask); !in_range) return in_range;
  std::optional<BoundGid> source;
  if ((mask & kAttrAddress) != 0) {
    source = impl.adapter.gid(attributes.av.sgid_index);
    if (!source) return fail(Errc::kInvalidArgument, "modify queue pair: no GID at that index");
    if (is_multicast(attributes.av.dgid)) {
      return fail(Errc::kInvalidArgument,
                  "modify queue pair: the peer of a connection cannot change");
    }
  }

  if (to == QpState::kReset) {
    impl.reset();
  } else if (to == QpState::kError) {
    impl.enter_error();
    return {};
  }
  take_all(impl.attributes, attributes, mask);
  ++impl.modifications;
  if (source) {
    impl.connection.set(*source, attributes.av.dgid);
    path();  // chosen now; a peer that comes later is found then
  }
  if (from == QpState::kReset && to == QpState::kInit) {
    impl.life = ++impl.adapter.last_life_;
    impl.spec.work->restart();
  }
  if (from == QpState::kReadyToSend && to == QpState::kSendQueueDrain) {
    impl.wants_drained_event = (mask & kAttrSqdAsyncNotify) != 0 && attributes.sqd_async_notify;
  }
  if (to != from) impl.set_state(to);
  impl.note_drained();
  kick();
  return {};
}

void QueuePair::Impl::reset() {
  requester.reset();
  responder.reset();
  path_states.reset();
  peer_life = {};
  connection.clear();
  attributes = QpAttributes{};
  wants_drained_event = false;
  announced_established = false;
}

}  // namespace paravane::verbs
