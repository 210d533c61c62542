#include "keeper/switch_follower.h"

#include <fmt/core.h>
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "privsep/keeper_question.h"
#include "privsep/switch_line.h"

namespace paravane::keeper {
namespace {

constexpr std::size_t kMaxUntold = 256;  // while the engine reads nothing

}  // namespace

SwitchFollower::SwitchFollower(EventLoop& loop, std::unique_ptr<LocalSwitches> switches,
                               bool always, std::function<bool(std::string)> tell)
    : loop_(loop), switches_(std::move(switches)), always_(always), tell_(std::move(tell)) {}

SwitchFollower::~SwitchFollower() {
  follow(false);
}

std::string SwitchFollower::answer(std::string_view plan, Instant now) {
  // News from now on, so that none is lost between the look and the first of them.
  follow(true);
  const std::optional<privsep::SwitchPlan> before = std::exchange(plan_, std::nullopt);
  std::string report = privsep::answer_plan(plan, *this);
  if (plan_) {
    number_ = privsep::split_number(plan).number;
    looked_ = now;
  } else {
    plan_ = before;  // it was refused
  }
  if (plan_ && plan_->switches.empty() && !always_) plan_.reset();
  follow(plan_.has_value());
  return report;
}

auto SwitchFollower::saved() const -> Saved {
  return {.number = number_, .plan = plan_, .untold = untold_, .known = switches_->known()};
}

void SwitchFollower::resume(Saved saved, Instant now) {
  number_ = std::move(saved.number);
  untold_ = std::move(saved.untold);
  switches_->know(std::move(saved.known));
  if (!saved.plan) return;
  follow(true);
  static_cast<void>(make(*saved.plan));
  take_back_all();
  looked_ = now;
}

privsep::SwitchReport SwitchFollower::make(const privsep::SwitchPlan& plan) {
  plan_ = plan;
  privsep::SwitchReport report = switches_->make(plan);
  told_ = report;
  told_.mended.clear();
  return report;
}

Instant SwitchFollower::next_step() const {
  if (!plan_) return kNever;
  const Instant slow = looked_ + kSlow;
  return heard_ ? std::min(slow, std::max(*heard_ + kSettle, looked_ + kApart)) : slow;
}

void SwitchFollower::step(Instant now) {
  if (now < next_step()) return;
  looked_ = now;
  // What came until now is seen by the look; what comes during it makes another.
  if (news_) news_->take(switches_->about());
  heard_.reset();
  const privsep::SwitchReport before = told_;
  privsep::SwitchReport report = make(privsep::SwitchPlan(*plan_));
  listen();
  untold_.insert(untold_.end(), report.mended.begin(), report.mended.end());
  untold_.resize(std::min(untold_.size(), kMaxUntold));
  if (untold_.empty() && told_ == before) return;
  report.mended = untold_;
  if (tell_(fmt::format("{} {}", number_, privsep::print(report)))) {
    untold_.clear();
  } else {
    told_ = before;  // and once more at the next look
    heard_ = now;
  }
}

void SwitchFollower::follow(bool wanted) {
  if (!wanted) {
    if (std::exchange(listening_, false)) loop_.unwatch(news_->fd());
    news_.reset();
    heard_.reset();
    return;
  }
  if (news_) return;
  auto news = ethernet::LinkNews::open();
  if (news) {
    news_ = std::move(*news);
    listen();
  } else if (!std::exchange(deaf_, true)) {
    log::warn("{}: changes are repaired only every {} s", news.error().message,
              std::chrono::duration_cast<std::chrono::seconds>(kSlow).count());
  }
}

void SwitchFollower::listen() {
  if (listening_ || !news_) return;
  listening_ = loop_.watch(news_->fd(), EPOLLIN, [this](std::uint32_t) { on_news(); }).has_value();
}

// Until the next check, further notifications need not be read, however many there are.
void SwitchFollower::on_news() {
  if (!news_->take(switches_->about())) return;
  heard_ = std::chrono::steady_clock::now();
  loop_.unwatch(news_->fd());
  listening_ = false;
}

}  // namespace paravane::keeper
