#include "subnet/notices.h"

#include <algorithm>
#include <cstring>

#include "base/doubled_pause.h"
#include "wire/infiniband/attribute.h"

namespace paravane::subnet {

using wire::infiniband::NodeType;
using wire::infiniband::Notice;
using wire::infiniband::NoticeType;
using wire::infiniband::SubnetManagementPacket;

namespace {

bool is_security_notice(const Notice& notice) {
  return notice.generic_type ==
         (wire::infiniband::kGenericNotice | static_cast<std::uint8_t>(NoticeType::kSecurity));
}

}  // namespace

Notice notice_of(std::uint16_t trap, NoticeType type, NodeType node) {
  Notice notice;
  notice.generic_type =
      static_cast<std::uint8_t>(wire::infiniband::kGenericNotice | static_cast<std::uint8_t>(type));
  notice.producer.set(static_cast<std::uint32_t>(node));
  notice.trap.set(trap);
  return notice;
}

Notice bad_management_key(NodeType node, const MadAddress& from,
                          const SubnetManagementPacket& smp) {
  wire::infiniband::BadManagementKey details;
  details.source.set(from.lid);
  details.method = smp.header.method;
  details.attribute = smp.header.attribute;
  details.modifier = smp.header.modifier;
  details.key = smp.management_key;
  if (smp.header.management_class == wire::infiniband::management_class::kSubnetByRoute) {
    details.route_source = smp.source;
    const unsigned hops = smp.header.class_specific.get() & 0x3F;
    const std::size_t told = std::min<std::size_t>(hops, details.return_path.size());
    details.route = static_cast<std::uint8_t>(wire::infiniband::kByRoute | hops |
                                              (told < hops ? wire::infiniband::kPathCutShort : 0));
    std::copy_n(smp.return_path.begin() + 1, told, details.return_path.begin());
  }
  return notice_of(wire::infiniband::trap::kBadManagementKey, NoticeType::kSecurity, node, details);
}

void Notices::tell(const Notice& notice, Instant now) {
  Instant at = now;
  Instant sent = Instant::min();
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    if (waiting.due.notice.trap != notice.trap || waiting.due.notice.details != notice.details)
      return false;
    sent = waiting.sent;
    at = std::max(at, sent + kFirstPause);
    return true;
  });
  if (waiting_.size() >= kMost) {
    const auto oldest = std::ranges::find_if(
        waiting_, [](const Waiting& waiting) { return is_security_notice(waiting.due.notice); });
    waiting_.erase(oldest != waiting_.end() ? oldest : waiting_.begin());
  }
  waiting_.push_back({.due = {.transaction = next_transaction_++, .notice = notice},
                      .at = at,
                      .pause = kFirstPause,
                      .sent = sent});
}

void Notices::repress(std::uint64_t transaction) {
  std::erase_if(waiting_, [transaction](const Waiting& waiting) {
    return waiting.due.transaction == transaction;
  });
}

void Notices::tell_again(Instant now) {
  for (Waiting& waiting : waiting_) {
    waiting.at = now;
    waiting.pause = kFirstPause;
  }
}

std::vector<Notices::Due> Notices::take_due(Instant now) {
  std::vector<Due> due;
  due.reserve(waiting_.size());
  for (Waiting& waiting : waiting_) {
    const bool is_security = is_security_notice(waiting.due.notice);
    if (waiting.at > now || (is_security && next_security_ > now)) continue;
    if (is_security) next_security_ = now + kSecurityPause;
    due.push_back(waiting.due);
    waiting.sent = now;
    waiting.at = now + waiting.pause;
    waiting.pause = doubled_pause(waiting.pause, kFirstPause, kLongestPause);
  }
  return due;
}

Instant Notices::next_deadline() const {
  Instant next = kNever;
  for (const Waiting& waiting : waiting_) {
    const bool is_security = is_security_notice(waiting.due.notice);
    next = std::min(next, is_security ? std::max(waiting.at, next_security_) : waiting.at);
  }
  return next;
}

NoticesImage Notices::image() const {
  NoticesImage image{.next_transaction = next_transaction_};
  for (const Waiting& waiting : waiting_)
    image.waiting.push_back({.transaction = static_cast<std::uint32_t>(waiting.due.transaction),
                             .notice = waiting.due.notice});
  return image;
}

void Notices::adopt(const NoticesImage& image, Instant now) {
  waiting_.clear();
  next_transaction_ = image.next_transaction;
  for (const NoticesImage::Waiting& one : image.waiting) {
    if (waiting_.size() >= kMost) break;
    waiting_.push_back({.due = {.transaction = one.transaction, .notice = one.notice},
                        .at = now,
                        .pause = kFirstPause});
  }
}

SubnetManagementPacket Notices::trap_of(const Due& due, Be16 lid) {
  SubnetManagementPacket smp;
  smp.header.management_class = wire::infiniband::management_class::kSubnetByLid;
  smp.header.method = wire::infiniband::method::kTrap;
  smp.header.attribute.set(wire::infiniband::attribute::kNotice);
  smp.header.transaction.set(due.transaction);
  Notice notice = due.notice;
  notice.issuer = lid;
  if (notice.trap.get() == wire::infiniband::trap::kLinkStateChanged)
    std::memcpy(notice.details.data(), &lid, sizeof lid);
  wire::infiniband::put_attribute(notice, smp);
  return smp;
}

}  // namespace paravane::subnet
