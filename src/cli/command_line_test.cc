#include "cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/completion_nodes.h"
#include "cli/esxcli_tree.h"
#include "cli/limit_option.h"
#include "cli/stats_tables.h"
#include "cli/version.h"
#include "json/json_text.h"

namespace paravane::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

struct Outcome {
  ExitStatus status;
  std::string out;
  std::string err;
};

Outcome run(const std::vector<const char*>& words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const ExitStatus status = run_command_line(words);
  std::string out = testing::internal::GetCapturedStdout();
  return {status, std::move(out), testing::internal::GetCapturedStderr()};
}

TEST(CommandLine, SaysThatNoDaemonAnswers) {
  const Outcome outcome = run({"--socket", "/nonexistent/api.sock", "vm", "list"});
  EXPECT_EQ(outcome.status, ExitStatus::kUnreachable);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("/nonexistent/api.sock: No such file"),
                                 HasSubstr("systemctl start paravaned")));
  EXPECT_EQ(outcome.out, "");
}

TEST(CommandLine, SharedOptionsMayFollowTheCommand) {
  const Outcome outcome =
      run({"vm", "list", "--socket", "/nonexistent/api.sock", "--formatter=json"});
  EXPECT_EQ(outcome.status, ExitStatus::kUnreachable);
}

TEST(CommandLine, RefusesWhatItDoesNotKnow) {
  for (const std::vector<const char*>& words : std::vector<std::vector<const char*>>{
           {},
           {"vm"},
           {"vm", "ad"},
           {"vm", "add"},
           {"vm", "add", "a", "b"},
           {"vm", "add", "A"},
           {"vm", "add", "a", "--mac", "x"},
           {"vm", "add", "a", "--mac", "01:00:00:00:00:01"},
           {"vm", "add", "a", "--version", "16"},
           {"vm", "add", "a", "--version", "x"},
           {"vm", "add", "a", "--doorbells", "polled"},
           {"vm", "add", "a", "--limit", "qps=1"},
           {"vm", "add", "a", "--limit", "gids"},
           {"vm", "add", "a", "--limit", "gids=257"},
           {"vm", "add", "a", "--hw-version", "12"},
           {"vm", "add", "a", "--hw-version", "13", "--version", "20"},
           {"vm", "add", "a", "--hw-version", "14", "--version", "17"},
           {"vm", "add", "a", "--hw-version", "13", "--protocol", "v2"},
           {"vm", "add", "a", "--protocol", "v3"},
           {"vm", "add", "a", "--limit", "gids=default"},
           {"vm", "set"},
           {"vm", "set", "a"},
           {"vm", "set", "A", "--hw-version", "14"},
           {"vm", "set", "a", "--hw-version", "22"},
           {"vm", "set", "a", "--hw-version", "13", "--protocol", "v2"},
           {"vm", "set", "a", "--adapter", "1"},
           {"vm", "set", "a", "--limit", "gids=none"},
           {"vm", "set", "a", "--limit", "gids=257"},
           {"vm", "set", "a", "--limit", "gids=1", "--limit", "gids=default"},
           {"vm", "adapter"},
           {"vm", "adapter", "add"},
           {"vm", "adapter", "add", "A"},
           {"vm", "adapter", "add", "a", "--mac", "01:00:00:00:00:01"},
           {"vm", "adapter", "add", "a", "--protocol", "2"},
           {"vm", "adapter", "remove", "a"},
           {"vm", "adapter", "remove", "a", "0"},
           {"vm", "adapter", "remove", "a", "9"},
           {"vm", "remove", "../a"},
           {"vm", "qemu-args", "a", "--tap", "t", "--netdev", "n"},
           {"vm", "qemu-args", "a", "--addr", "20"},
           {"vm", "qemu-args", "a", "--addr", "zz"},
           {"vm", "add", "a", "--port-group", "A"},
           {"vm", "set", "a", "--port-group", "A"},
           {"vm", "adapter", "add", "a", "--port-group", "a/b"},
           {"vds"},
           {"vds", "create"},
           {"vds", "create", "A"},
           {"vds", "create", "a", "--mtu", "100"},
           {"vds", "set", "a"},
           {"vds", "add-host", "a", "HOST"},
           {"vds", "add-host", "a", "h1", "--uplink", "lo"},
           {"vds", "add-host", "a", "h1", "--uplink", "a/b"},
           {"vds", "uplink", "a"},
           {"vds", "uplink", "a", "a:b"},
           {"vds", "delete", "../a"},
           {"portgroup", "create", "a"},
           {"portgroup", "create", "a", "--vds", "A"},
           {"portgroup", "create", "a", "--vds", "b", "--vlan", "4096"},
           {"portgroup", "create", "none", "--vds", "b"},
           {"portgroup", "create", "a", "--vds", "b", "--routed", "native"},
           {"portgroup", "set", "a"},
           {"portgroup", "set", "a", "--routed", "yes"},
           {"portgroup", "set", "a", "--routed", "on", "--roce", "on"},
           {"portgroup", "delete", "A"},
           {"sniff"},
           {"sniff", "--vm", "a"},
           {"sniff", "-w", "x"},
           {"sniff", "--vm", "A", "-w", "x"},
           {"sniff", "--uplink", "vmnic32"},
           {"sniff", "--uplink", "vmnic0", "-w", "x"},
           {"sniff", "--uplink", "vmnic48", "-w", "x"},
           {"sniff", "--vm", "a", "--uplink", "vmnic32", "-w", "x"},
           {"sniff", "--vm", "a", "-w", "x", "-s", "65536"},
           {"sniff", "--vm", "a", "-w", "x", "-c", "0"},
           {"sniff", "--vm", "a", "-w", "x", "--seconds", "-1"},
           {"impair"},
           {"impair", "set"},
           {"impair", "set", "--vm", "a"},
           {"impair", "set", "--vm", "A", "--loss", "1%"},
           {"impair", "set", "--vm", "a", "--peer", "B", "--loss", "1%"},
           {"impair", "set", "--vm", "a", "--loss", "101%"},
           {"impair", "set", "--vm", "a", "--loss", "x"},
           {"impair", "set", "--vm", "a", "--delay", "20"},
           {"impair", "set", "--vm", "a", "--delay", "11s"},
           {"impair", "set", "--vm", "a", "--rnr=200%"},
           {"impair", "set", "--vm", "a", "--rnr", "--seed", "-1"},
           {"impair", "set", "--vm", "a", "--rnr", "--seed=-1"},
           {"impair", "set", "--vm", "a", "--rnr", "--seed", "x"},
           {"cluster", "join", "pvt1.abc"},
           {"impair", "clear", "--vm", "A"},
           {"vds", "add-host", "a", "h1", "--uplink", "a,b"},
           {"vds", "add-host", "a", "h1", "--uplink", "a", "--uplink", "a"},
           {"vds", "uplink", "a", "b", "none"},
           {"portgroup", "create", "a", "--vds", "b", "--vlan", "trunk"},
           {"infiniband"},
           {"infiniband", "adapter", "add"},
           {"infiniband", "adapter", "add", "mlx4_0"},
           {"infiniband", "adapter", "add", "mlx4_0", "--device", "MT1"},
           {"infiniband", "adapter", "add", "4", "--device", "MT26428"},
           {"infiniband", "adapter", "add", "mlx4_0", "--device", "MT26428", "--bus", "256"},
           {"infiniband", "adapter", "add", "mlx4_0", "--device", "MT26428", "--bus", "x"},
           {"infiniband", "adapter", "remove"},
           {"infiniband", "adapter", "remove", "../a"},
           {"infiniband", "fabric"},
           {"infiniband", "run"},
           {"infiniband", "run", "--"},
           {"infiniband", "run", "ibstat", "-p"},
           {"rdma"},
           {"rdma", "device", "stats", "get"},
           {"rdma", "device", "stats", "get", "-d", "mlx5_0"},
           {"network", "nic"},
           {"stats", "--vm", "A"},
           {"stats", "--qps", "--counters"},
           {"status", "--formatter=xml"},
           {"completion", "tcsh"}}) {
    EXPECT_EQ(run(words).status, ExitStatus::kUsage) << testing::PrintToString(words);
  }
}

TEST(CommandLine, SaysWhatIsWrongAndWhoseHelpToRead) {
  EXPECT_EQ(run({"foo"}).err, "paravane: there is no command foo\n  See: paravane --help\n");
  EXPECT_EQ(run({"vm", "ad"}).err,
            "paravane: there is no command ad; do you mean add?\n  See: paravane vm --help\n");
  EXPECT_EQ(run({"portgrp"}).err,
            "paravane: there is no command portgrp; do you mean portgroup?\n"
            "  See: paravane --help\n");
  // Also where a command follows that is there.
  EXPECT_EQ(run({"clutser", "status"}).err,
            "paravane: there is no command clutser; do you mean cluster?\n"
            "  See: paravane --help\n");
  EXPECT_EQ(run({"--formatter", "json", "clutser", "status"}).err,
            R"({"error":{"code":"usage","message":"there is no command clutser; do you mean )"
            R"(cluster?","remedy":"See: paravane --help"}})"
            "\n");
  EXPECT_EQ(run({"vm", "add"}).err, "paravane: NAME is required\n  See: paravane vm add --help\n");
  EXPECT_EQ(run({"vm", "--bogus"}).err,
            "paravane: there is no option --bogus\n  See: paravane vm --help\n");
  EXPECT_THAT(run({"status", "--bogus"}).err, AllOf(HasSubstr("paravane: "), HasSubstr("--bogus"),
                                                    HasSubstr("See: paravane status --help\n")));
}

TEST(CommandLine, ShowsItsHelpWhereACommandIsMissing) {
  for (const std::vector<const char*>& words :
       std::vector<std::vector<const char*>>{{}, {"vm"}, {"rdma", "device"}, {"vm", "--json"}}) {
    std::vector<const char*> with_help = words;
    with_help.push_back("--help");
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.status, ExitStatus::kUsage) << testing::PrintToString(words);
    EXPECT_EQ(outcome.out, run(with_help).out) << testing::PrintToString(words);
    EXPECT_EQ(outcome.err, "") << testing::PrintToString(words);
  }
}

TEST(CommandLine, HelpIsACommandToo) {
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  EXPECT_EQ(run({"help", "vm", "add"}).out, run({"vm", "add", "--help"}).out);
  EXPECT_EQ(run({"help", "rdma", "device", "list"}).out,
            run({"rdma", "device", "list", "--help"}).out);
  EXPECT_EQ(run({"help"}).status, ExitStatus::kOk);
  const Outcome wrong = run({"help", "vm", "ad"});
  EXPECT_EQ(wrong.status, ExitStatus::kFailed);
  EXPECT_EQ(wrong.err,
            "paravane: there is no command ad\n  Do you mean add? See: paravane vm --help\n");
}

TEST(CommandLine, SuggestsTheNearestWord) {
  EXPECT_EQ(run({"vds", "lsit"}).err,
            "paravane: there is no command lsit; do you mean list?\n  See: paravane vds --help\n");
  EXPECT_EQ(run({"rdma", "device", "protocl", "list"}).err,
            "paravane: there is no command protocl; do you mean protocol?\n"
            "  See: paravane rdma device --help\n");
  EXPECT_EQ(run({"vm", "list", "--formater=json"}).err,
            "paravane: there is no option --formater; do you mean --formatter?\n"
            "  See: paravane vm list --help\n");
  EXPECT_EQ(run({"vm", "add", "a", "--protcol", "v1"}).err,
            "paravane: there is no option --protcol; do you mean --protocol?\n"
            "  See: paravane vm add --help\n");
  EXPECT_EQ(run({"vm", "add", "a", "--mem", "1G"}).err,
            "paravane: there is no option --mem; do you mean --memory?\n"
            "  See: paravane vm add --help\n");
  EXPECT_EQ(run({"status", "--bogus"}).err,
            "paravane: there is no option --bogus\n  See: paravane status --help\n");
}

TEST(CommandLine, RepeatsTheValueThatIsWrong) {
  EXPECT_THAT(run({"network", "ip", "interface", "ipv4", "set", "-i", "vmk1", "-t", "fixed"}).err,
              HasSubstr("--type fixed: must be static or none"));
  EXPECT_THAT(run({"network", "ip", "interface", "ipv4", "set", "-i", "vmk1", "-I", "10.0.0"}).err,
              HasSubstr("--ipv4 10.0.0: must be an address"));
  EXPECT_THAT(run({"network", "ip", "interface", "ipv4", "set", "-i", "vmk1"}).err,
              HasSubstr("--ipv4: must be an address"));
  EXPECT_THAT(run({"cluster", "token", "h2", "--valid", "9w"}).err, HasSubstr("--valid 9w: "));
}

TEST(CommandLine, ComplainsInItsOwnWords) {
  const auto first_line = [](const std::vector<const char*>& words) {
    const std::string err = run(words).err;
    return err.substr(0, err.find('\n'));
  };
  EXPECT_EQ(first_line({"status", "extra"}), "paravane: there is no argument extra here");
  EXPECT_EQ(first_line({"status", "--formatter", "yaml"}),
            "paravane: --formatter yaml: must be one of table, json, csv");
  EXPECT_EQ(first_line({"stats", "--interval", "2"}), "paravane: --interval needs --watch too");
  EXPECT_THAT(first_line({"vm", "qemu-args", "a", "--tap", "t", "--netdev", "n"}),
              HasSubstr(" cannot be used with "));
  EXPECT_EQ(first_line({"sniff", "-w", "x"}),
            "paravane: sniff: name what to capture with --vm or --uplink");
  EXPECT_THAT(first_line({"sniff", "--vm", "a", "--uplink", "vmnic32", "-w", "x"}),
              HasSubstr(" cannot be used with "));
  EXPECT_THAT(first_line({"sniff", "--vm", "a", "-w", "x", "-c", "0"}),
              HasSubstr("--count 0: must be 1 to "));
  EXPECT_THAT(first_line({"vm", "add", "a", "--mac"}), HasSubstr("--mac needs a value"));
}

TEST(CommandLine, UsageSaysWhatMayBeRepeated) {
  EXPECT_THAT(run({"vds", "uplink", "--help"}).out, HasSubstr("uplink [options] SWITCH NIC...\n"));
  EXPECT_THAT(run({"infiniband", "module", "set", "--help"}).out,
              HasSubstr("set [options] MODULE [OPTIONS...]\n"));
}

TEST(CommandLine, HelpHasNoWordsOfTheParser) {
  const Outcome help = run({"vm", "add", "--help"});
  EXPECT_THAT(help.out, testing::Not(HasSubstr("REQUIRED")));
  EXPECT_THAT(help.out, AllOf(HasSubstr("Usage: paravane vm add [options] NAME"),
                              HasSubstr("Arguments:\n  NAME "), HasSubstr("--mac MAC ")));
  EXPECT_THAT(run({"portgroup", "create", "--help"}).out,
              testing::ContainsRegex("--vds SWITCH +Switch of the port group \\(required\\)"));
  EXPECT_THAT(run({"vm", "stop", "--help"}).out,
              testing::ContainsRegex("for the guest \\(default: [0-9]+\\)"));
  EXPECT_THAT(run({"system", "settings", "advanced", "set", "--help"}).out,
              HasSubstr("New value, one of:\n  -s,--string-value TEXT "));
}

TEST(CommandLine, ErrorsAreJsonWhereJsonIsAskedFor) {
  for (const std::vector<const char*>& words :
       std::vector<std::vector<const char*>>{{"--json", "vm", "ad"},
                                             {"vm", "ad", "--formatter", "json"},
                                             {"vm", "add", "--json"},
                                             {"vm", "add", "A", "--formatter=json"}}) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.status, ExitStatus::kUsage);
    const auto error = parse_json(outcome.err);
    ASSERT_TRUE(error) << outcome.err;
    EXPECT_EQ(error->at("error").at("code"), "usage");
  }
  const Outcome outcome = run({"vm", "list", "--json", "--socket", "/nonexistent/api.sock"});
  const auto error = parse_json(outcome.err);
  ASSERT_TRUE(error) << outcome.err;
  EXPECT_EQ(error->at("error").at("code"), "unreachable");
  EXPECT_THAT(error->at("error").at("remedy").get<std::string>(), HasSubstr("systemctl"));
  EXPECT_THAT(run({"vm", "ad"}).err, testing::StartsWith("paravane: "));
}

TEST(CommandLine, JsonIsAFormatter) {
  EXPECT_EQ(run({"vm", "list", "--json", "--socket", "/nonexistent/api.sock"}).status,
            ExitStatus::kUnreachable);
}

Outcome run_as(std::string_view program, const std::vector<const char*>& words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const ExitStatus status = run_command_line(words, program);
  std::string out = testing::internal::GetCapturedStdout();
  return {status, std::move(out), testing::internal::GetCapturedStderr()};
}

TEST(CommandLine, CalledAsEsxcliHasItsNamespacesAlone) {
  EXPECT_EQ(run_as("esxcli", {"vm", "list"}).err,
            "esxcli: there is no command vm\n  See: esxcli --help\n");
  EXPECT_EQ(run_as("esxcli", {"rdma", "device", "lst"}).err,
            "esxcli: there is no command lst; do you mean list?\n"
            "  See: esxcli rdma device --help\n");
  const Outcome help = run_as("esxcli", {"rdma", "device", "stats", "get", "--help"});
  EXPECT_THAT(help.out, AllOf(HasSubstr("Usage: esxcli rdma device stats get"),
                              HasSubstr("  esxcli rdma device stats get -d vmrdma0")));
  EXPECT_EQ(run_as("esxcli", {"--socket", "/nonexistent", "rdma", "device", "list"}).status,
            ExitStatus::kUnreachable);
}

TEST(CommandLine, CalledAsEsxcfgNicsHasOneListing) {
  EXPECT_EQ(run_as("esxcfg-nics", {}).status, ExitStatus::kUsage);
  EXPECT_EQ(run_as("esxcfg-nics", {"-l", "--socket", "/nonexistent"}).status,
            ExitStatus::kUnreachable);
  EXPECT_THAT(run_as("esxcfg-nics", {"--help"}).out, HasSubstr("Examples:\n  esxcfg-nics -l"));
}

TEST(CommandLine, SaysHowItIsRight) {
  EXPECT_THAT(run({"cluster", "join", "pvt1.abc"}).err,
              AllOf(HasSubstr("pvt1.abc"), HasSubstr("standard input or with --token-file"),
                    HasSubstr("See: paravane cluster join --help\n")));
  EXPECT_THAT(run({"vds", "create", "a", "--mtu", "abc"}).err,
              HasSubstr("paravane: --mtu abc: must be a whole number\n  MTU in bytes, "
                        "1280 to 9216"));
  EXPECT_THAT(run({"impair", "set", "--vm", "a", "--rnr", "--seed", "-1"}).err,
              HasSubstr("--seed -1: a seed must be a whole number"));
  EXPECT_THAT(run({"impair", "set", "--vm", "a", "--peer", "B", "--rnr"}).err,
              HasSubstr("peer \"B\" must be"));
  EXPECT_THAT(run({"impair", "set", "--vm", "a", "--rnr", "5%"}).err,
              AllOf(HasSubstr("5%"), HasSubstr("write --rnr=5%")));
}

TEST(CommandLine, RefusesOptionsThatWouldDoNothing) {
  EXPECT_EQ(run({"stats", "--interval", "2"}).status, ExitStatus::kUsage);
  EXPECT_EQ(run({"stats", "--count", "2"}).status, ExitStatus::kUsage);
}

// Every command explains itself, with an example.
TEST(CommandLine, EveryCommandHasHelpWithExamples) {
  CLI::App app("x", "paravane");
  cli::Run unused;
  add_vm_commands(app, unused);
  add_vds_commands(app, unused);
  add_portgroup_commands(app, unused);
  add_infiniband_commands(app, unused);
  add_impair_commands(app, unused);
  add_sniff_command(app, unused);
  add_status_command(app, unused);
  add_stats_command(app, unused);
  add_metrics_command(app, unused);
  add_path_commands(app, unused);
  add_cluster_commands(app, unused);
  add_esxcli_commands(app, unused);
  add_daemon_commands(app, unused);
  add_completion_command(app, unused);
  for (const CompletionNode& node : completion_nodes(app)) {
    if (node.path.empty()) continue;
    std::vector<std::string> words;
    for (std::size_t at = 0; at < node.path.size();) {
      const std::size_t end = std::min(node.path.find(' ', at), node.path.size());
      words.push_back(node.path.substr(at, end - at));
      at = end + 1;
    }
    std::vector<const char*> raw;
    for (const std::string& word : words) raw.push_back(word.c_str());
    raw.push_back("--help");
    const Outcome outcome = run(raw);
    EXPECT_EQ(outcome.status, ExitStatus::kOk) << node.path;
    EXPECT_THAT(outcome.out, HasSubstr("Examples:\n")) << node.path;
    EXPECT_THAT(outcome.out, Not(testing::ContainsRegex("UINT|Option Group"))) << node.path;
  }
}

TEST(CommandLine, TellsItsVersion) {
  for (const char* word : {"--version", "-v", "version"}) {
    const Outcome outcome = run({word});
    EXPECT_EQ(outcome.status, ExitStatus::kOk) << word;
    EXPECT_EQ(outcome.out, std::string("paravane ") + kVersion + "\n") << word;
  }
  // A command may have an option of that name.
  EXPECT_EQ(
      run({"network", "vswitch", "dvs", "vmware", "list", "-v", "lan", "--socket", "/none"}).status,
      ExitStatus::kUnreachable);
  EXPECT_THAT(kVersion, MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST(Completion, KnowsEveryCommandAndOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome outcome = run({"completion", shell});
    EXPECT_EQ(outcome.status, ExitStatus::kOk);
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("qemu-args"), HasSubstr("libvirt-xml"),
                                   HasSubstr("netdev"), HasSubstr("stop"), HasSubstr("watch")))
        << shell;
  }
}

// A capture is of a port of an InfiniBand adapter; the uplink of a switch may be any NIC.
TEST(Completion, OffersTheUplinksThatCanBeCaptured) {
  CLI::App app("x", "paravane");
  cli::Run unused;
  add_sniff_command(app, unused);
  add_vds_commands(app, unused);
  const auto values = [&app](const std::string& path) {
    for (const CompletionNode& node : completion_nodes(app)) {
      if (node.path != path) continue;
      for (const CompletionOption& option : node.options) {
        if (option.names.front() == "--uplink") return option.values;
      }
    }
    return Values{};
  };
  EXPECT_EQ(values("sniff"),
            (Values{.kind = ValueKind::kListed, .words = {}, .list = "infiniband uplink list"}));
  EXPECT_EQ(values("vds add-host"),
            (Values{.kind = ValueKind::kListed, .words = {"none"}, .list = "network nic list"}));
}

TEST(LimitOption, SetsWhatItNames) {
  model::VmLimits limits;
  EXPECT_TRUE(set_limit("queue_pairs=64", limits));
  EXPECT_TRUE(set_limit("gids=8", limits));
  EXPECT_EQ(limits.queue_pairs, 64u);
  EXPECT_EQ(limits.gids, 8u);
  for (const char* bad :
       {"", "=", "sges", "sges=", "sges=x", "sges=1 ", "sges=-1", "sges=99999999999", "qps=1"}) {
    EXPECT_FALSE(set_limit(bad, limits)) << bad;
  }
  EXPECT_THAT(set_limit("gids=9", limits).error().message, HasSubstr("specified twice"));
  EXPECT_THAT(set_limit("queue_pair=9", limits).error().message,
              HasSubstr("do you mean queue_pairs?"));
  EXPECT_THAT(set_limit("sges=99999999999", limits).error().message, HasSubstr("1 to 32"));
}

TEST(LimitOption, TakesALimitAway) {
  const auto changed = parse_limit("gids=8");
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->field->name, "gids");
  EXPECT_EQ(changed->value, 8u);
  const auto removed = parse_limit("gids=default");
  ASSERT_TRUE(removed);
  EXPECT_FALSE(removed->value);
  EXPECT_THAT(parse_limit("gids").error().message, HasSubstr("gids=default"));
  EXPECT_FALSE(parse_limit("qps=default"));
}

model::Stats some_stats() {
  model::QpStats qp{.number = 17,
                    .handle = 1,
                    .type = "RC",
                    .state = "RTS",
                    .dest_qpn = 18,
                    .path = "local",
                    .sends = 4,
                    .receives = 5,
                    .sent_bytes = 6,
                    .received_bytes = 7,
                    .errors = 8,
                    .rnr_waits = 9,
                    .retries = 10};
  model::VmStats vm;
  vm.name = "db1";
  vm.groups = {{.name = "engine", .counters = {{"sends", "", 40}, {"completion_errors", "", 2}}},
               {.name = "vfio_user", .counters = {{"vfio_user_messages", "", 99}}}};
  vm.objects = {.name = "objects", .counters = {{"gids", "addresses", 3}}};
  vm.queue_pairs = {qp, qp};
  return {.daemon = {{.name = "worker", .counters = {{"rounds", "r", 1}}}}, .vms = {vm}};
}

TEST(StatsTables, ShowOperationsBytesErrorsAndPath) {
  EXPECT_EQ(vm_table(some_stats()).print(text::TableFormat::kCsv),
            "VM,Path,QPs,Sends,Sent Bytes,Receives,Received Bytes,Read Bytes,Errors,Flushed,"
            "Messages\n"
            "db1,local,2,40,0,0,0,0,2,0,99\n");
  EXPECT_THAT(qp_table(some_stats()).print(text::TableFormat::kCsv),
              HasSubstr("db1,17,RC,RTS,18,local,4,6,5,7,8,9,10\n"));
}

TEST(StatsTables, NameFurtherAdapters) {
  model::Stats stats = some_stats();
  stats.vms[0].adapter = 2;
  EXPECT_THAT(vm_table(stats).print(text::TableFormat::kCsv), HasSubstr("\ndb1/2,local,"));
  EXPECT_THAT(qp_table(stats).print(text::TableFormat::kCsv), HasSubstr("\ndb1/2,17,"));
  EXPECT_THAT(counter_table(stats).print(text::TableFormat::kCsv),
              HasSubstr("\ndb1/2,engine,sends,40,"));
}

TEST(StatsJson, HasTheApisNames) {
  model::Stats stats = some_stats();
  stats.vms[0].adapter = 2;
  stats.vms[0].queue_pairs[1].peer_gid = "fe80::1";
  const nlohmann::json qps = queue_pairs_json(stats);
  ASSERT_EQ(qps.size(), 2u);
  EXPECT_EQ(qps[0].at("vm"), "db1");
  EXPECT_EQ(qps[0].at("adapter"), 2);
  EXPECT_EQ(qps[0].at("dest_qpn"), 18);
  EXPECT_EQ(qps[0].at("sent_bytes"), 6);
  const nlohmann::json connections = connections_json(stats);
  ASSERT_EQ(connections.size(), 1u);
  EXPECT_EQ(connections[0].at("peer_gid"), "fe80::1");
  const nlohmann::json counters = counters_json(stats);
  ASSERT_EQ(counters.size(), 5u);
  EXPECT_EQ(counters[0].at("vm"), nullptr);
  EXPECT_EQ(counters[0].at("name"), "rounds");
  EXPECT_EQ(counters[1].at("vm"), "db1");
  EXPECT_EQ(counters[1].at("value"), 40);
}

TEST(StatsTables, LeaveNoCounterOut) {
  EXPECT_EQ(counter_table(some_stats()).print(text::TableFormat::kCsv),
            "Subject,Group,Counter,Value,Meaning\n"
            "daemon,worker,rounds,1,r\n"
            "db1,engine,sends,40,\n"
            "db1,engine,completion_errors,2,\n"
            "db1,vfio_user,vfio_user_messages,99,\n"
            "db1,objects,gids,3,addresses\n");
}

}  // namespace
}  // namespace paravane::cli
