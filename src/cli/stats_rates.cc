#include "cli/stats_rates.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/stats_tables.h"

namespace paravane::cli {
namespace {

constexpr double kMegabyte = 1e6;

struct Rates {
  double sent_bytes = 0;
  double received_bytes = 0;
  double messages = 0;
  double errors = 0;
};

double rate(std::uint64_t before, std::uint64_t now, double seconds) {
  return static_cast<double>(now >= before ? now - before : now) / seconds;
}

std::string shown_rate(double per_second, double unit = 1) {
  return fmt::format("{:.1f}", per_second / unit);
}

const model::VmStats* find_vm(const model::Stats& stats, const model::VmStats& vm) {
  const auto same = [&vm](const model::VmStats& one) {
    return one.name == vm.name && one.adapter == vm.adapter;
  };
  const auto found = std::ranges::find_if(stats.vms, same);
  return found == stats.vms.end() ? nullptr : &*found;
}

const model::VmStats& vm_before(const StatsInterval& interval, const model::VmStats& vm) {
  static const model::VmStats none;
  const model::VmStats* found = find_vm(interval.before, vm);
  return found == nullptr ? none : *found;
}

Rates rates_of(const StatsInterval& interval, const model::VmStats& vm) {
  const model::VmStats& before = vm_before(interval, vm);
  const auto engine = [&](std::string_view counter) {
    return rate(counter_of(before, "engine", counter), counter_of(vm, "engine", counter),
                interval.seconds);
  };
  return {.sent_bytes = engine("sent_bytes"),
          .received_bytes = engine("received_bytes") + engine("read_bytes"),
          .messages = engine("sends") + engine("receives"),
          .errors = engine("completion_errors")};
}

Rates rates_of(const model::QpStats& before, const model::QpStats& now, double seconds) {
  return {.sent_bytes = rate(before.sent_bytes, now.sent_bytes, seconds),
          .received_bytes = rate(before.received_bytes, now.received_bytes, seconds),
          .messages =
              rate(before.sends, now.sends, seconds) + rate(before.receives, now.receives, seconds),
          .errors = rate(before.errors, now.errors, seconds)};
}

void add_counter_rates(text::TextTable& table, const std::string& subject,
                       const std::vector<model::CounterGroup>& before,
                       const model::CounterGroup& group, double seconds) {
  const auto known = std::ranges::find(before, group.name, &model::CounterGroup::name);
  for (const model::CounterValue& counter : group.counters) {
    std::uint64_t value = 0;
    if (known != before.end()) {
      const auto old = std::ranges::find(known->counters, counter.name, &model::CounterValue::name);
      if (old != known->counters.end()) value = old->value;
    }
    if (value == counter.value) continue;
    table.add({subject, group.name, counter.name, counter.value,
               shown_rate(rate(value, counter.value, seconds)), counter.help});
  }
}

}  // namespace

text::TextTable vm_rate_table(const StatsInterval& interval) {
  text::TextTable table(
      {"VM", "Path", "QPs", "Sent MB/s", "Received MB/s", "Messages/s", "Errors/s"});
  for (const model::VmStats& vm : interval.now.vms) {
    const Rates rates = rates_of(interval, vm);
    table.add({subject_of(vm), paths_of(vm), std::uint64_t{vm.queue_pairs.size()},
               shown_rate(rates.sent_bytes, kMegabyte), shown_rate(rates.received_bytes, kMegabyte),
               shown_rate(rates.messages), shown_rate(rates.errors)});
  }
  return table;
}

text::TextTable qp_rate_table(const StatsInterval& interval) {
  text::TextTable table({"VM", "QP", "Type", "State", "Path", "Sent MB/s", "Received MB/s",
                         "Messages/s", "Errors/s"});
  for (const model::VmStats& vm : interval.now.vms) {
    const std::vector<model::QpStats>& old = vm_before(interval, vm).queue_pairs;
    for (const model::QpStats& qp : vm.queue_pairs) {
      const auto known = std::ranges::find(old, qp.number, &model::QpStats::number);
      const Rates rates =
          rates_of(known == old.end() ? model::QpStats{} : *known, qp, interval.seconds);
      table.add({subject_of(vm), std::uint64_t{qp.number}, qp.type, qp.state, qp.path,
                 shown_rate(rates.sent_bytes, kMegabyte),
                 shown_rate(rates.received_bytes, kMegabyte), shown_rate(rates.messages),
                 shown_rate(rates.errors)});
    }
  }
  return table;
}

text::TextTable counter_rate_table(const StatsInterval& interval) {
  text::TextTable table({"Subject", "Group", "Counter", "Value", "Per Second", "Meaning"});
  for (const model::CounterGroup& group : interval.now.daemon) {
    add_counter_rates(table, "daemon", interval.before.daemon, group, interval.seconds);
  }
  for (const model::VmStats& vm : interval.now.vms) {
    const std::vector<model::CounterGroup>& before = vm_before(interval, vm).groups;
    for (const model::CounterGroup& group : vm.groups) {
      add_counter_rates(table, subject_of(vm), before, group, interval.seconds);
    }
  }
  return table;
}

nlohmann::json rates_json(const StatsInterval& interval) {
  nlohmann::json array = nlohmann::json::array();
  for (const model::VmStats& vm : interval.now.vms) {
    const Rates rates = rates_of(interval, vm);
    array.push_back({{"vm", vm.name},
                     {"adapter", vm.adapter},
                     {"sent_bytes_per_s", rates.sent_bytes},
                     {"received_bytes_per_s", rates.received_bytes},
                     {"messages_per_s", rates.messages},
                     {"errors_per_s", rates.errors}});
  }
  return array;
}

}  // namespace paravane::cli
