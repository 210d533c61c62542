// paravane impair set, clear, list.

#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "api/impairment_json.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "model/impairment.h"
#include "model/vm.h"

namespace paravane::cli {
namespace {

struct ImpairOptions {
  model::Impairment impairment;
  std::string loss;
  std::string delay;
  std::string reorder;
  std::string rnr;
  std::string seed;
};

text::TextTable impairment_table(const std::vector<model::ImpairmentStatus>& impairments) {
  text::TextTable table({"VM", "Peer", "Loss", "Delay", "Reorder", "RNR", "Seed", "Messages",
                         "Lost", "Answers Lost", "Delayed", "Reordered", "RNRs"});
  for (const model::ImpairmentStatus& one : impairments) {
    const model::Impairment& spec = one.spec;
    table.add({spec.vm, spec.peer, model::format_share(spec.loss_ppm),
               model::format_delay(spec.delay_us), model::format_share(spec.reorder_ppm),
               model::format_share(spec.rnr_ppm), spec.seed, one.messages, one.lost,
               one.answers_lost, one.delayed, one.reordered, one.rnr});
  }
  return table;
}

// What the texts of the options say. Errors: kInvalidArgument.
Result<model::Impairment> read_options(const ImpairOptions& options) {
  model::Impairment impairment = options.impairment;
  for (const auto& [text, share] : {std::pair(&options.loss, &impairment.loss_ppm),
                                    std::pair(&options.reorder, &impairment.reorder_ppm),
                                    std::pair(&options.rnr, &impairment.rnr_ppm)}) {
    if (text->empty()) continue;
    const auto ppm = model::parse_share(*text);
    if (!ppm) return std::unexpected(ppm.error());
    *share = *ppm;
  }
  if (!options.delay.empty()) {
    const auto delay = model::parse_delay_us(options.delay);
    if (!delay) return std::unexpected(delay.error());
    impairment.delay_us = *delay;
  }
  if (!options.seed.empty()) {
    const auto seed = model::parse_seed(options.seed);
    if (!seed) {
      return fail(Errc::kInvalidArgument, fmt::format("--seed {}", seed.error().message));
    }
    impairment.seed = *seed;
  }
  if (Status good = model::check_impairment(impairment); !good)
    return std::unexpected(good.error());
  return impairment;
}

ExitStatus run_set_impairment(const ImpairOptions& options, const Context& context) {
  const auto impairment = read_options(options);
  if (!impairment) return report_usage(impairment.error().message);
  api::ApiClient client = context.client();
  const auto set = client.set_impairment(*impairment);
  if (!set) return report(set.error(), client);
  const bool as_json = context.format == text::TableFormat::kJson;
  fmt::print("{}", as_json ? pretty_json(api::to_json(*set))
                           : impairment_table({*set}).print(context.format));
  return ExitStatus::kOk;
}

ExitStatus run_clear(const std::string& vm, const Context& context) {
  if (!vm.empty()) {
    if (const Status good = model::check_name(vm); !good) {
      return report_usage(fmt::format("vm {}: {}", vm, good.error().message));
    }
  }
  api::ApiClient client = context.client();
  const auto cleared = client.clear_impairments(vm.empty() ? std::nullopt : std::optional(vm));
  return cleared ? ExitStatus::kOk : report(cleared.error(), client);
}

ExitStatus run_list_impairment(const Context& context) {
  api::ApiClient client = context.client();
  const auto impairments = client.list_impairments();
  if (!impairments) return report(impairments.error(), client);
  const bool as_json = context.format == text::TableFormat::kJson;
  fmt::print("{}", as_json ? json_array<model::ImpairmentStatus>(*impairments, api::to_json)
                           : impairment_table(*impairments).print(context.format));
  note_empty(impairments->empty(), "no faults are injected; see: paravane impair set --help",
             context);
  return ExitStatus::kOk;
}

void add_set_command(CLI::App& impair, Run& run) {
  CLI::App* set = impair.add_subcommand("set", "Inject faults into the traffic that a VM sends");
  auto options = std::make_shared<ImpairOptions>();
  set->add_option("--vm", options->impairment.vm, "VM that sends the messages")
      ->type_name("NAME")
      ->required();
  set->add_option("--peer", options->impairment.peer,
                  "Receiver: VM of this host, GID, IPv4 address, or any (default: any)")
      ->type_name("PEER");
  set->add_option("--loss", options->loss, "Share of messages and responses to drop")
      ->type_name("PERCENT");
  set->add_option("--delay", options->delay, "Delay of each message: 20us, 1.5ms, up to 10s")
      ->type_name("TIME");
  set->add_flag("--reorder{25%}", options->reorder, "Share of messages to reorder (default: 25%)");
  set->add_flag("--rnr{1%}", options->rnr, "Share of sends answered with an RNR NAK (default: 1%)");
  set->add_option("--seed", options->seed, "Seed that chooses the messages (default: 1)")
      ->type_name("NUMBER");
  set->footer(
      "Faults last until they are cleared or the daemon ends; they are kept in memory only.\n"
      "Examples:\n"
      "  paravane impair set --vm db1 --peer db2 --loss 0.1% --seed 7\n"
      "  paravane impair set --vm db1 --peer 10.77.0.4 --delay 20us --reorder --rnr=5%");
  set->callback([options, &run] {
    run = [options](const Context& context) { return run_set_impairment(*options, context); };
  });
}

}  // namespace

void add_impair_commands(CLI::App& parent, Run& run) {
  CLI::App* impair = parent.add_subcommand(
      "impair", "Inject faults into RDMA traffic: loss, delay, reordering, RNR");
  impair->require_subcommand(1);
  impair->footer("Examples:\n  paravane impair set --vm db1 --peer db2 --loss 0.1%");
  add_set_command(*impair, run);

  CLI::App* clear = impair->add_subcommand("clear", "Clear injected faults");
  auto vm = std::make_shared<std::string>();
  clear->add_option("--vm", *vm, "Clear only the faults of this VM")->type_name("NAME");
  clear->footer(
      "Examples:\n"
      "  paravane impair clear\n"
      "  paravane impair clear --vm db1");
  clear->callback(
      [vm, &run] { run = [vm](const Context& context) { return run_clear(*vm, context); }; });

  CLI::App* list =
      impair->add_subcommand("list", "List injected faults, and how many messages each affected");
  list->footer(
      "Examples:\n"
      "  paravane impair list\n"
      "  paravane impair list --formatter=json");
  list->callback([&run] { run = run_list_impairment; });
}

}  // namespace paravane::cli
