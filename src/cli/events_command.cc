// paravane events.

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/event_output.h"
#include "model/vm.h"
#include "text/text_cell.h"

namespace paravane::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kWaitS = 20;  // below what a client waits for an answer
constexpr auto kRetryPause = std::chrono::seconds(1);

struct EventsOptions {
  bool follow = false;
  std::optional<std::uint64_t> since;
  std::string vm;
};

// To stderr, so that what reads the events from stdout is not disturbed.
void tell_gap(const api::EventPage& page, const std::string& boot) {
  if (!boot.empty() && boot != page.boot) {
    fmt::print(stderr,
               "paravane: event numbers start at 1 again: the daemon was restarted or upgraded, or "
               "its engine ended\n");
  }
  if (page.lost > 0) {
    fmt::print(stderr, "paravane: {} event{} lost: the daemon keeps only the latest events\n",
               page.lost, page.lost == 1 ? " was" : "s were");
  }
}

bool print(const std::string& text) {
  fmt::print("{}", text);
  return std::fflush(stdout) == 0;
}

// Nobody has this name, nor had it when something happened that is kept.
std::optional<model::ApiError> unknown_vm(const std::string& name, api::ApiClient& client) {
  const auto page = client.events({.vm = name, .most = 1}, 0);
  if (page && !page->events.empty()) return std::nullopt;
  const auto vm = client.find_vm(name);
  if (vm || vm.error().code != model::ApiErrorCode::kNotFound) return std::nullopt;
  return vm.error();
}

ExitStatus run_once(api::EventQuery query, const Context& context) {
  api::ApiClient client = context.client();
  std::vector<model::Event> events;
  // A page at a time; those that come meanwhile are for another time.
  for (;;) {
    auto page = client.events(query, 0);
    if (!page) return report(page.error(), client);
    if (query.after > 0) tell_gap(*page, query.boot);
    for (model::Event& event : page->events) events.push_back(std::move(event));
    if (page->events.size() < query.most) break;
    query.after = page->next_after;
    query.boot = page->boot;
  }
  if (events.empty() && query.vm) {
    if (const auto error = unknown_vm(*query.vm, client)) return report(*error, client);
  }
  return print(print_events(events, context.format)) ? ExitStatus::kOk : ExitStatus::kFailed;
}

// What a daemon that is away for a while says when it is back is still of interest: it
// names a gap or another boot.
ExitStatus run_follow(api::EventQuery query, const Context& context) {
  api::ApiClient client = context.client();
  if (context.format == text::TableFormat::kCsv) {
    if (!print(print_events({}, context.format))) return ExitStatus::kFailed;
  }
  bool away = false;
  for (;;) {
    const auto asked = Clock::now();
    const auto page = client.events(query, kWaitS);
    if (!page) {
      if (query.boot.empty() || !client.unreachable()) return report(page.error(), client);
      if (!std::exchange(away, true)) {
        fmt::print(stderr, "paravane: {}; waiting for the daemon\n",
                   text::printable(page.error().message));
      }
      std::this_thread::sleep_for(kRetryPause);
      continue;
    }
    away = false;
    if (query.after > 0 || !query.boot.empty()) tell_gap(*page, query.boot);
    if (!print(print_event_lines(page->events, context.format))) return ExitStatus::kFailed;
    query.after = page->next_after;
    query.boot = page->boot;
    // The daemon has as many waiting as it lets wait, or ends.
    if (page->events.empty() && Clock::now() - asked < kRetryPause) {
      std::this_thread::sleep_for(kRetryPause);
    }
  }
}

ExitStatus run_events(const EventsOptions& options, const Context& context) {
  api::EventQuery query{.after = options.since.value_or(0)};
  if (!options.vm.empty()) {
    if (const Status good = model::check_name(options.vm); !good) {
      return report_usage(fmt::format("vm {}: {}", options.vm, good.error().message));
    }
    query.vm = options.vm;
  }
  return options.follow ? run_follow(std::move(query), context)
                        : run_once(std::move(query), context);
}

}  // namespace

void add_events_command(CLI::App& parent, Run& run) {
  CLI::App* events = parent.add_subcommand("events", "Show what happened on this host");
  auto options = std::make_shared<EventsOptions>();
  events->add_flag("--follow", options->follow, "Keep showing new events");
  events->add_option("--since", options->since, "Show events after this number only")
      ->type_name("NUMBER");
  events->add_option("--vm", options->vm, "Show only the events of this VM, even if it was removed")
      ->type_name("NAME");
  events->footer(
      "The daemon keeps only the latest events. With --follow, the command reports how many\n"
      "events were lost before it could read them, and JSON output has one object per line.\n"
      "The types are listed in /usr/share/doc/paravane/docs/events.md.\n"
      "Examples:\n"
      "  paravane events\n"
      "  paravane events --follow --vm db1\n"
      "  paravane events --since 4711 --follow --formatter=json");
  events->callback([options, &run] {
    run = [options](const Context& context) { return run_events(*options, context); };
  });
}

}  // namespace paravane::cli
