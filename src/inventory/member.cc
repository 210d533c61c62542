#include "inventory/member.h"

#include <algorithm>
#include <utility>

#include "base/doubled_pause.h"
#include "model/cluster.h"

namespace paravane::inventory {
namespace {

using std::chrono::milliseconds;

constexpr Duration kFirstPause = milliseconds(200);
constexpr Duration kLongestPause = std::chrono::seconds(5);
// A host that writes all the time costs the others a look per this time, no more.
constexpr Duration kShowEvery = milliseconds(20);
// A key of ours that somebody takes away again and again.
constexpr Duration kWriteEvery = milliseconds(200);
// A host that has too many keys, and then fewer, again and again.
constexpr Duration kReadEvery = std::chrono::seconds(10);

}  // namespace

Member::Member(MemberConfig config, OpenSocket open, Events events, Instant now)
    : config_(std::move(config)),
      open_(std::move(open)),
      events_(std::move(events)),
      client_(config_.access, open_),
      watch_(config_.access, open_) {
  state_.since = now;
  state_.connecting = true;
  state_.problem = "not yet connected";
}

Member::~Member() = default;

void Member::set_own(std::map<std::string, std::string> own) {
  own_ = std::move(own);
  own_changed_ = own_changed_ || written_ != own_;
}

void Member::set_password(std::string password) {
  config_.access.password = std::move(password);
  next_try_ = {};
}

Status Member::write_document(const std::string& name, const std::optional<std::string>& text) {
  return write_documents({{.key = name, .value = text}});
}

Status Member::write_documents(std::vector<Write> documents) {
  if (!state_.connected) return fail(Errc::kIo, "etcd is unreachable: " + state_.problem);
  for (Write& write : documents) write.key.insert(0, kConfigPrefix);
  return client_.write_all(documents);
}

Instant Member::step(Instant now) {
  if (!state_.connected) {
    if (now < next_try_) return next_try_;
    if (Status in = connect(now); !in) {
      fall_back(now, in.error());
      return next_try_;
    }
  }
  Status good = keep_alive(now);
  if (good) good = hear(now);
  if (good && records_.wants_reading() && now >= next_reading_) good = read_again(now);
  if (good && own_changed_ && now >= next_write_) {
    good = write_own(false);
    next_write_ = now + kWriteEvery;
  }
  if (!good) {
    fall_back(now, good.error());
    return next_try_;
  }
  show(now);
  Instant next = next_beat_;
  if (own_changed_) next = std::min(next, next_write_);
  if (view_changed_) next = std::min(next, next_show_);
  if (records_.wants_reading()) next = std::min(next, next_reading_);
  return next;
}

Status Member::connect(Instant now) {
  const auto token = client_.token();
  state_.login_refused = !token && token.error().code == Errc::kBadState;
  if (!token) return std::unexpected(token.error());
  // Before there is a lease: it may take long.
  if (Status read = read_all(); !read) return read;
  const auto lease = client_.grant_lease(config_.lease);
  if (!lease) return std::unexpected(lease.error());
  const std::int64_t before = std::exchange(lease_, *lease);
  next_beat_ = now + config_.lease / 3;
  lease_end_ = now + config_.lease;
  // Keys that are still there move to the new lease, and so keep their age.
  if (Status written = write_own(true); !written) return written;
  if (before != 0) static_cast<void>(client_.revoke_lease(before));
  watch_.start(client_.endpoint(), *token, std::string(kRoot), revision_ + 1);
  ++state_.rounds;
  state_.connected = true;
  state_.connecting = false;
  state_.problem.clear();
  state_.since = now;
  view_changed_ = true;
  next_show_ = now;
  events_.state(state_);
  return {};
}

Status Member::read_all() {
  Records fresh;
  std::map<std::string, std::string> written;
  const std::string mine = host_prefix(config_.host);
  const auto revision = client_.for_each(std::string(kRoot), [&](KeyValue&& pair) {
    if (pair.key.starts_with(mine)) written[pair.key.substr(mine.size())] = pair.value;
    return fresh.put(std::move(pair));
  });
  if (!revision) return std::unexpected(revision.error());
  records_ = std::move(fresh);
  written_ = std::move(written);
  revision_ = *revision;
  return {};
}

Status Member::read_again(Instant now) {
  next_reading_ = now + kReadEvery;
  const auto token = client_.token();
  if (!token) return std::unexpected(token.error());
  if (Status read = read_all(); !read) return read;
  watch_.start(client_.endpoint(), *token, std::string(kRoot), revision_ + 1);
  own_changed_ = own_changed_ || written_ != wanted();
  if (!std::exchange(view_changed_, true)) next_show_ = std::max(next_show_, now);
  return {};
}

// `all`: also what stands there already, on an older lease.
Status Member::write_own(bool all) {
  std::vector<Write> writes;
  const std::string mine = host_prefix(config_.host);
  const std::map<std::string, std::string>& own = wanted();
  for (const auto& [key, value] : written_) {
    if (!own.contains(key)) writes.push_back({.key = mine + key, .value = std::nullopt});
  }
  // Adapters stand before the GIDs that they hold, in the order of keys.
  for (const auto& [key, value] : own) {
    const auto found = written_.find(key);
    if (all || found == written_.end() || found->second != value) {
      writes.push_back({.key = mine + key, .value = value});
    }
  }
  if (Status done = client_.write_all(writes, lease_); !done) return done;
  if (own_) written_ = *own_;
  own_changed_ = false;
  return {};
}

Status Member::keep_alive(Instant now) {
  if (now < next_beat_) return {};
  const auto left = client_.keep_alive(lease_);
  if (!left && left.error().code == Errc::kIo && now < lease_end_ - config_.lease / 3) {
    next_beat_ = now + std::chrono::seconds(1);  // an endpoint that was slow to answer
    return {};
  }
  if (!left) return std::unexpected(left.error());
  if (*left <= 0) {
    lease_ = 0;
    ++state_.lost_leases;
    return fail(Errc::kIo, "this host's lease in etcd has expired");
  }
  next_beat_ = now + config_.lease / 3;
  lease_end_ = now + config_.lease;
  return {};
}

Status Member::hear(Instant now) {
  constexpr int kAtOnce = 256;
  for (int i = 0; i < kAtOnce; ++i) {
    const auto answer = watch_.next();
    if (!answer) return std::unexpected(answer.error());
    if (!*answer) return {};
    if ((*answer)->canceled) {
      return fail(Errc::kOutOfRange,
                  (*answer)->compact_revision != 0
                      ? "etcd has compacted changes that this host has not read yet"
                      : "etcd ended the watch: " + (*answer)->reason);
    }
    apply(**answer, now);
  }
  return {};
}

void Member::apply(const WatchAnswer& answer, Instant now) {
  if (answer.created) pause_ = {};
  const std::string mine = host_prefix(config_.host);
  for (const WatchEvent& event : answer.events) {
    if (events_.written) {
      events_.written(event.pair.key, event.pair.key.size() + event.pair.value.size());
    }
    if (event.pair.key.starts_with(mine)) {
      const std::string key = event.pair.key.substr(mine.size());
      if (event.deleted) {
        // Ours to take away, unless it still is to stand there.
        written_.erase(key);
      } else {
        written_[key] = event.pair.value;
      }
      own_changed_ = own_changed_ || written_ != wanted();
    }
    if (event.deleted) {
      records_.erase(event.pair.key);
    } else {
      records_.put(KeyValue(event.pair));
    }
  }
  revision_ = std::max(revision_, answer.revision);
  if (answer.events.empty()) return;
  if (!std::exchange(view_changed_, true)) next_show_ = std::max(next_show_, now);
}

void Member::show(Instant now) {
  if (!view_changed_ || now < next_show_) return;
  view_changed_ = false;
  next_show_ = now + kShowEvery;
  state_.revision = revision_;
  const std::shared_ptr<const View> view = records_.build(revision_);
  tell_lost(*view);
  events_.changed(view);
}

void Member::tell_lost(const View& view) {
  std::set<LostClaim> lost;
  for (const LostClaim& claim : view.lost) {
    if (claim.host == config_.host && wanted().contains(claim.key)) lost.insert(claim);
  }
  for (const LostClaim& claim : lost) {
    if (!told_.contains(claim)) events_.lost(claim);
  }
  told_ = std::move(lost);
}

void Member::fall_back(Instant now, const Error& error) {
  watch_.stop();
  pause_ = doubled_pause(pause_, kFirstPause, kLongestPause);
  next_try_ = now + pause_;
  const bool news = state_.connected || state_.problem != error.message;
  if (state_.connected) state_.since = now;
  state_.connected = false;
  state_.connecting = false;
  state_.problem = error.message;
  if (news) events_.state(state_);
}

Status Member::leave() {
  watch_.stop();
  own_.emplace();
  const std::int64_t lease = std::exchange(lease_, 0);
  if (Status erased = client_.erase_prefix(host_prefix(config_.host)); !erased) return erased;
  return lease == 0 ? Status() : client_.revoke_lease(lease);
}

}  // namespace paravane::inventory
