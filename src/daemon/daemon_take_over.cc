// Daemon: how this engine takes over from another one, and leaves everything to one that replaces
// it.

#include <fmt/core.h>

#include <chrono>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/version.h"
#include "daemon/daemon.h"
#include "daemon/hand_over.h"
#include "daemon/heir_line.h"
#include "privsep/heir_facts.h"

namespace paravane::daemon {

// Until the keeper says so, nothing is done that the other engine, or anything outside, could see.
Status Daemon::take_over(UniqueFd estate) {
  const auto refuse = [this](const std::string& cause) { refuse_to_take_over(keeper_, cause); };
  if (Status ready = prepare(); !ready) refuse(ready.error().message);
  HeirLine line(keeper_, std::move(estate));
  auto inheritance = line.receive();
  if (!inheritance) refuse(inheritance.error().message);
  inheritance->is_kept = !crash_.empty();
  inheritance->blames_nothing = crash_from_outside_;
  UniqueFd listener = std::move(inheritance->api);
  const std::int64_t frozen_at = inheritance->frozen_at;
  const bool is_missing = !listener && !crash_.empty();  // killed before it was kept
  if (Status good = http::ApiServer::check_listener(config_.api, listener); !good && !is_missing) {
    refuse(good.error().message);
  }
  auto host =
      host::Host::take_over(host_config(), std::move(*inheritance), [this] { stopping_ = true; });
  if (!host) refuse(with_remedy(host.error()));
  host_ = std::move(*host);
  if (Status made = make_fabric(); !made) refuse(made.error().message);
  const auto before = line.await_go();
  if (!before) refuse(before.error().message);
  host_->begin();
  if (crash_.empty()) {
    Gap gap = line.gap();
    gap.frozen = Instant(std::chrono::nanoseconds(frozen_at));
    gap.begun = std::chrono::steady_clock::now();
    tell_taken_over(*before, gap);
  } else {
    tell_recovered();
  }
  return begin(std::move(listener));
}

void Daemon::tell_taken_over(const std::string& before, const Gap& gap) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(gap.length());
  host_->set_upgrade({.state = model::UpgradeState::kDone,
                      .from = before,
                      .to = kVersion,
                      .gap_ms = static_cast<std::uint64_t>(milliseconds.count()),
                      .time = model::format_time(std::chrono::system_clock::now())});
  log::info("took over from paravaned {}: VMs stood still for {} ms", before, milliseconds.count());
  auto fields = gap.fields();
  fields.insert({{"from", before}, {"version", kVersion}});
  events_.add({.type = "daemon.upgraded",
               .fields = std::move(fields),
               .text = fmt::format("paravaned {} took over from {}", kVersion, before)});
}

void Daemon::tell_recovered() {
  log::error(
      "a new engine serves, since the one before it {}. The RDMA objects of guests whose driver "
      "was active ended with it; in each of them, end the programs that use RDMA, then: modprobe "
      "-r vmw_pvrdma; modprobe vmw_pvrdma",
      crash_);
  events_.add({.type = "daemon.recovered",
               .severity = model::Severity::kError,
               .fields = {{"version", kVersion}, {"reason", crash_}},
               .text = "a new engine serves, since the one before it " + crash_});
}

void Daemon::hand_over() {
  Demand demand = std::move(*demand_);
  demand_.reset();
  log::info("handing over to another engine");
  HandOver handing({.keeper = keeper_,
                    .host = *host_,
                    .api = *api_,
                    .events = events_,
                    .cluster = *cluster_,
                    .mailbox = *mailbox_});
  const auto word = handing.run(demand.heir, std::move(demand.line));
  if (!word) {
    stopping_ = true;  // as in on_note()
    return;
  }
  end_upgrade(*word);
  for (auto& received : handing.take_notes()) take_note(std::move(received));
}

// This engine goes on. The text of kResume says why.
void Daemon::end_upgrade(const std::string& outcome) {
  constexpr std::string_view kChecked = "checked ";
  constexpr std::string_view kFailed = "failed ";
  model::UpgradeStatus status{.state = model::UpgradeState::kFailed,
                              .from = kVersion,
                              .time = model::format_time(std::chrono::system_clock::now())};
  if (outcome.starts_with(kChecked)) {
    const auto heir = privsep::parse_heir_facts(outcome.substr(kChecked.size()));
    const Status good = heir ? host::check_heir(*heir) : Status(std::unexpected(heir.error()));
    if (heir) status.to = heir->version;
    status.state = good ? model::UpgradeState::kChecked : model::UpgradeState::kFailed;
    status.cause = good ? "" : good.error().message;
    if (good && heir->keeper_record != privsep::kKeeperRecord) {
      status.cause =
          "the keeper would not be replaced: it leaves another form than the program reads";
    }
  } else {
    status.cause = outcome.starts_with(kFailed) ? outcome.substr(kFailed.size()) : outcome;
  }
  if (status.state == model::UpgradeState::kFailed && !only_check_) {
    log::error("the upgrade failed, and this engine goes on: {}", status.cause);
    events_.add({.type = "daemon.upgrade_failed",
                 .severity = model::Severity::kError,
                 .fields = {{"reason", status.cause}},
                 .text = "the upgrade failed: " + status.cause});
  }
  host_->set_upgrade(std::move(status));
}

}  // namespace paravane::daemon
