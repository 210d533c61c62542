#include "ipoib/membership.h"

#include <algorithm>
#include <utility>

#include "base/doubled_pause.h"
#include "base/memory_shortage.h"
#include "ipoib/confirmation.h"
#include "ipoib/link_mtu.h"
#include "wire/infiniband/ip_over_infiniband.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::ipoib {

using wire::infiniband::AdministrationStatus;
using wire::infiniband::kFullMember;
using wire::infiniband::MulticastMember;

Membership::Membership(subnet::HostAdapter& adapter, subnet::PortNumber port,
                       AdministrationClient& client, const TurnClock& clock, std::uint16_t vlan,
                       Listener& listener)
    : adapter_(adapter),
      port_(port),
      client_(client),
      clock_(clock),
      vlan_(vlan),
      listener_(listener) {}

Membership::~Membership() {
  // Without memory it stays a member until the port goes.
  (void)runs_in_memory([this] { leave(); });
  client_.cancel(question_);
}

std::uint16_t Membership::key() const {
  const subnet::Port& port = *adapter_.port(port_);
  if (vlan_ == 0) return port.partition(0);
  const auto full = static_cast<std::uint16_t>(kFullMember | vlan_);
  const bool is_full = std::ranges::find(port.partitions(), full) != port.partitions().end();
  return is_full ? full : port.partition_for(full);
}

std::uint16_t Membership::full_key() const {
  return static_cast<std::uint16_t>(key_ | kFullMember);
}

bool Membership::adopt(const BroadcastGroup& group) {
  const subnet::Port& port = *adapter_.port(port_);
  const std::uint16_t now_key = port.is_active() ? key() : 0;
  const auto full = static_cast<std::uint16_t>(now_key | kFullMember);
  if (now_key == 0 || group.partition != now_key ||
      group.gid != wire::infiniband::broadcast_gid(full) ||
      link_mtu_of(group.mtu) > wire::infiniband::bytes_of(port.mtu()))
    return false;
  key_ = now_key;
  lid_ = port.lid();
  state_ = State::kJoined;
  group_ = group;
  due_ = clock_.now;
  if (!is_user_) adapter_.group_uses(port_).add(group_used());
  is_user_ = true;
  return true;
}

void Membership::on_port_change() {
  const subnet::Port& port = *adapter_.port(port_);
  if (!port.is_active()) return lose(State::kNoLink);
  const std::uint16_t now_key = key();
  // Administration keeps members whose partition has gone.
  if (now_key != key_) leave();
  if (now_key == 0) return lose(State::kNoKey);
  const bool is_same = key_ == now_key && lid_ == port.lid();
  const bool is_under_way = state_ != State::kNoLink && state_ != State::kNoKey;
  if (is_same && is_under_way) return;
  lose(State::kJoining);
  key_ = now_key;
  lid_ = port.lid();
  join();
}

void Membership::on_register_again() {
  // The group stays in use meanwhile: its members' packets still arrive.
  if (state_ == State::kNoLink || state_ == State::kNoKey) return;
  client_.cancel(std::exchange(question_, QuestionId::kNone));
  retry_ = kFirstRetry;
  join();
}

subnet::GroupUses::Group Membership::group_used() const {
  return {.gid = wire::infiniband::broadcast_gid(full_key())};
}

void Membership::join() {
  // Without memory for the question.
  due_ = clock_.now + retry_;
  if (!is_user_) adapter_.group_uses(port_).add(group_used());
  is_user_ = true;
  const auto asked = client_.join(wire::infiniband::broadcast_gid(full_key()), full_key(),
                                  /*send_only=*/false, [this](const auto& answer) {
                                    question_ = QuestionId::kNone;
                                    take(answer);
                                  });
  if (!asked) return fail(asked.error());
  question_ = *asked;
  due_ = kNever;
}

void Membership::leave() {
  if (!std::exchange(is_user_, false)) return;
  if (adapter_.group_uses(port_).remove(group_used()))
    client_.leave(wire::infiniband::broadcast_gid(full_key()), full_key(), /*send_only=*/false);
}

void Membership::let_go() {
  if (std::exchange(is_user_, false)) (void)adapter_.group_uses(port_).remove(group_used());
}

void Membership::fail(const AdministrationFailure& failure) {
  failure_ = failure;
  bad_group_.reset();
  retry_later();
}

void Membership::take(const AdministrationClient::Answer<MulticastMember>& answer) {
  if (!answer) {
    // Without an answer the group may still be there; refused again, it is not. A manager that sets
    // the subnet up may not know the port for a moment.
    const bool is_refused = answer.error().cause == AdministrationFailure::Cause::kRefused;
    if (is_refused && (!group_ || std::exchange(was_refused_, true))) {
      lose(State::kRefused);
      let_go();
    }
    return fail(answer.error());
  }
  const std::size_t most = wire::infiniband::bytes_of(adapter_.port(port_)->mtu());
  auto group = read_broadcast_group(*answer, key_, most);
  if (!group) {
    lose(State::kRefused);
    bad_group_ = group.error();
    return retry_later();
  }
  retry_ = kFirstRetry;
  was_refused_ = false;
  due_ = clock_.now + kConfirmAfter;
  const bool is_news = state_ != State::kJoined || *group_ != *group;
  state_ = State::kJoined;
  group_ = *group;
  if (is_news) listener_.on_membership(*this);
}

void Membership::retry_later() {
  due_ = clock_.now + retry_;
  retry_ = doubled_pause(retry_, kFirstRetry, kLastRetry);
  if (!group_) state_ = State::kRefused;
}

void Membership::lose(State state) {
  client_.cancel(std::exchange(question_, QuestionId::kNone));
  due_ = kNever;
  bad_group_.reset();
  was_refused_ = false;
  if (state == State::kNoLink || state == State::kNoKey) {
    let_go();
    key_ = 0;
    retry_ = kFirstRetry;
  }
  state_ = state;
  if (!std::exchange(group_, std::nullopt)) return;
  listener_.on_membership(*this);
}

void Membership::on_time(Instant now) {
  if (now >= due_) join();
}

Instant Membership::next_deadline() const {
  return due_;
}

std::string Membership::why() const {
  if (state_ != State::kRefused) return {};
  if (bad_group_) return std::string(words_of(*bad_group_));
  switch (failure_.cause) {
    case AdministrationFailure::Cause::kNoManager: return "the port has no subnet manager";
    case AdministrationFailure::Cause::kNoRoom: return "too many questions wait for an answer";
    case AdministrationFailure::Cause::kNoAnswer:
      return "the subnet manager does not answer whether it may join";
    case AdministrationFailure::Cause::kRefused: break;
  }
  if (failure_.status == AdministrationStatus::kTooFewComponents ||
      failure_.status == AdministrationStatus::kNoRecords)
    return "the subnet manager has no broadcast group for it";
  if (failure_.status == AdministrationStatus::kInvalid)
    return "the subnet manager refuses this port: the MTU or rate of its broadcast group is above "
           "the port's";
  return "the subnet manager refuses this port, status " +
         std::to_string(static_cast<unsigned>(failure_.status));
}

}  // namespace paravane::ipoib
