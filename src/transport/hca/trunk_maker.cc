#include "transport/hca/trunk_maker.h"

#include <pthread.h>
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "base/memory_shortage.h"

namespace paravane::transport_hca {
namespace {

using verbs::HostId;
using wire::TrunkState;

Instant now() {
  return std::chrono::steady_clock::now();
}

TrunkState state_of(Errc code) {
  if (code == Errc::kNotFound) return TrunkState::kNoAdapter;
  if (code == Errc::kUnsupported) return TrunkState::kIwarp;
  return code == Errc::kBadState ? TrunkState::kPortDown : TrunkState::kFailed;
}

NoTrunk none_of(const Error& error) {
  return {.state = state_of(error.code), .why = error.message};
}

}  // namespace

Result<std::unique_ptr<TrunkMaker>> TrunkMaker::start(OpenTrunkDevice open, Events events,
                                                      bool seals_payload) {
  auto loop = EventLoop::create();
  if (!loop) return std::unexpected(loop.error());
  return std::unique_ptr<TrunkMaker>(
      new TrunkMaker(std::move(open), std::move(events), seals_payload, std::move(*loop)));
}

TrunkMaker::TrunkMaker(OpenTrunkDevice open, Events events, bool seals_payload,
                       std::unique_ptr<EventLoop> loop)
    : open_(std::move(open)),
      events_(std::move(events)),
      seals_payload_(seals_payload),
      loop_(std::move(loop)),
      mailbox_([l = loop_.get()] { l->wake(); }),
      thread_([this] { run(); }) {}

TrunkMaker::~TrunkMaker() {
  stop();
}

void TrunkMaker::stop() {
  if (!thread_.joinable()) return;
  mailbox_.post([this] { stopping_ = true; });
  mailbox_.close();
  thread_.join();
}

void TrunkMaker::run() {
  ::pthread_setname_np(::pthread_self(), "trunks");
  for (mailbox_.deliver(); !stopping_; mailbox_.deliver()) {
    if (!runs_in_memory([this] { turn(); })) log_.error(now(), "trunks: out of memory");
    if (mailbox_.waiting()) continue;
    const Instant next = next_turn();
    std::optional<Duration> wait;
    if (next != kNever) wait = std::max(next - now(), Duration::zero());
    if (const Result<int> ran = loop_->poll(wait); !ran) {
      log_.error(now(), "trunks: {}", ran.error().message);
    }
  }
  if (device_) loop_->unwatch(device_->fd());
}

void TrunkMaker::turn() {
  if (adapter_ && now() >= next_look_) look_at_device();
  for (auto& [id, host] : hosts_) {
    if (now() >= host.next_turn()) host.turn(now());
  }
}

Instant TrunkMaker::next_turn() const {
  Instant next = adapter_ ? next_look_ : kNever;
  for (const auto& [id, host] : hosts_) next = std::min(next, host.next_turn());
  return next;
}

void TrunkMaker::set_adapter(std::optional<TrunkAdapter> adapter, NoTrunk none) {
  mailbox_.post([this, adapter = std::move(adapter), none = std::move(none)] {
    if (adapter == adapter_ && (adapter || none == none_)) return;
    adapter_ = adapter;
    next_look_ = {};
    lose_device(adapter ? NoTrunk{.state = TrunkState::kPreparing, .why = "being prepared"} : none);
  });
}

void TrunkMaker::look_at_device() {
  next_look_ = now() + (device_ ? kLookEvery : kTryEvery);
  if (!device_) return open_device();
  if (device_->is_there()) return;
  log_.warn(now(), "trunks: {} was removed", adapter_->device);
  lose_device({.state = TrunkState::kNoAdapter, .why = adapter_->device + " was removed"});
}

void TrunkMaker::open_device() {
  auto opened = open_(*adapter_);
  Status watched;
  if (opened) {
    watched = loop_->watch((*opened)->fd(), EPOLLIN, [this](std::uint32_t) { on_device(); });
  }
  if (!opened || !watched) {
    const NoTrunk none = none_of(opened ? watched.error() : opened.error());
    if (none == none_) return;
    log_.warn(now(), "trunks: {}", none.why);
    none_ = none;
    return share_device();
  }
  device_ = std::move(*opened);
  log_.info(now(), "trunks: port {} of {} is in use", adapter_->port, adapter_->device);
  share_device();
}

void TrunkMaker::on_device() {
  const std::string trouble = device_->take_trouble();
  if (trouble.empty()) return;
  log_.warn(now(), "trunks: {}", trouble);
  next_look_ = now() + kTryEvery;
  lose_device({.state = TrunkState::kPortDown, .why = trouble});
}

void TrunkMaker::lose_device(const NoTrunk& none) {
  if (device_) loop_->unwatch(device_->fd());
  device_.reset();
  memory_.reset();
  none_ = none;
  share_device();
}

void TrunkMaker::share_device() {
  for (auto& [id, host] : hosts_) host.set_device(device_, none_, now());
}

void TrunkMaker::add(HostId id, bool leads) {
  HostTrunk::Acts acts{
      .send_offer = [this, id](const wire::TrunkOffer& offer) { events_.offer(id, offer); },
      .send_ready = [this, id](const wire::TrunkReady& ready) { events_.ready(id, ready); },
      .hand_over =
          [this, id](MadeTrunk trunk) {
            trunk.memory = memory_of_device();
            last_number_ = std::max(last_number_, trunk.number);
            events_.made(id, std::move(trunk), *adapter_);
          },
      .tell_none = [this, id](const NoTrunk& none) { events_.none(id, none); }};
  hosts_.erase(id);
  const HostTrunk::Config config{
      .leads = leads, .seals_payload = seals_payload_, .last_number = last_number_};
  const auto host = hosts_.try_emplace(id, config, std::move(acts)).first;
  host->second.set_device(device_, none_, now());
}

void TrunkMaker::tell(HostId host, const std::function<void(News&)>& change) {
  {
    const MutexLock lock(mutex_);
    change(news_[host]);
    if (std::exchange(news_posted_, true)) return;
  }
  mailbox_.post([this] { take_news(); });
}

void TrunkMaker::take_news() {
  std::map<HostId, News> news;
  {
    const MutexLock lock(mutex_);
    news.swap(news_);
    news_posted_ = false;
  }
  for (const auto& [host, one] : news) take(host, one);
}

void TrunkMaker::take(HostId id, const News& news) {
  if (news.was_lost) hosts_.erase(id);
  if (news.leads) add(id, *news.leads);
  const auto host = hosts_.find(id);
  if (host == hosts_.end()) return;
  if (news.offer) host->second.on_offer(*news.offer, now());
  if (news.ready) host->second.on_ready(*news.ready, now());
}

void TrunkMaker::on_channel(HostId host, bool leads) {
  tell(host, [leads](News& news) { news = {.was_lost = news.was_lost, .leads = leads}; });
}

void TrunkMaker::on_channel_lost(HostId host) {
  tell(host, [](News& news) { news = {.was_lost = true}; });
}

void TrunkMaker::on_offer(HostId host, const wire::TrunkOffer& offer) {
  tell(host, [&offer](News& news) { news.offer = offer; });
}

void TrunkMaker::on_ready(HostId host, const wire::TrunkReady& ready) {
  tell(host, [&ready](News& news) { news.ready = ready; });
}

void TrunkMaker::on_lost(HostId id, std::uint64_t number, const std::string& reason) {
  mailbox_.post([this, id, number, reason] {
    const auto host = hosts_.find(id);
    if (host != hosts_.end()) host->second.on_lost(number, reason, now());
  });
}

void TrunkMaker::retire(std::shared_ptr<TrunkPort> port, std::shared_ptr<RegisteredMemory> memory) {
  mailbox_.post([port = std::move(port), memory = std::move(memory)] {});
}

void TrunkMaker::connect_lane(std::shared_ptr<TrunkPort> port, const LaneNumbers& numbers,
                              std::function<void(bool)> done) {
  mailbox_.post([this, port = std::move(port), numbers, done = std::move(done)] {
    events_.run_at_owner([done, connected = port->connect_lane(numbers)] { done(connected); });
  });
}

std::shared_ptr<RegisteredMemory> TrunkMaker::memory_of_device() {
  if (auto memory = memory_.lock()) return memory;
  const auto self = std::make_shared<std::weak_ptr<RegisteredMemory>>();
  auto memory = std::make_shared<RegisteredMemory>(RegisteredMemory::Acts{
      .make =
          [this, self, device = std::weak_ptr(device_)](RegisteredMemory::Wanted wanted) {
            mailbox_.post([this, self, device,
                           shared = std::make_shared<RegisteredMemory::Wanted>(std::move(wanted))] {
              register_memory(device, *self, std::move(*shared));
            });
          },
      .end =
          [this](std::vector<RegisteredMemory::Region> regions) {
            mailbox_.post([shared = std::make_shared<std::vector<RegisteredMemory::Region>>(
                               std::move(regions))] {});
          }});
  *self = memory;
  memory_ = memory;
  return memory;
}

// All of it or none, since a VM's messages may lie anywhere. The files end at their owner.
void TrunkMaker::register_memory(const std::weak_ptr<TrunkDevice>& device,
                                 const std::weak_ptr<RegisteredMemory>& memory,
                                 RegisteredMemory::Wanted wanted) {
  auto made = std::make_shared<RegisteredMemory::Made>();
  if (const auto known = device.lock()) {
    for (const GuestMemory::MappedFile& file : wanted.files) {
      auto registered = known->register_memory(file.bytes);
      if (!registered) {
        log_.warn(now(), "trunks: memory of a VM is copied: {}", registered.error().message);
        made->regions.clear();
        break;
      }
      made->regions.push_back({.bytes = file.bytes, .registration = std::move(*registered)});
    }
  }
  made->wanted = std::move(wanted);
  events_.run_at_owner([made, memory] {
    if (const auto owner = memory.lock()) owner->take(std::move(*made));
  });
}

}  // namespace paravane::transport_hca
