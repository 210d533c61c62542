#include "settings/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "testing/temp_dir.h"

namespace paravane::settings {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(ConfigFile, MayBeEmpty) {
  const auto config = parse_config("", "test.toml");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->state_dir, Config{}.state_dir);
  EXPECT_EQ(config->worker.spin, Spin::kAuto);
  EXPECT_EQ(config->channel.dscp, 26u);
  EXPECT_EQ(config->roce.dscp, 26u);
}

TEST(ConfigFile, SetsEverything) {
  const auto config = parse_config(R"(
[state]
directory = "/a"
[api]
socket = "/b/api"
mode = "0600"
group = "ops"
threads = 2
[vfio_user]
socket_directory = "/c"
mode = "0666"
group = "kvm"
max_vms = 3
max_guest_memory_gib = 4
[host]
name = "h1"
[network]
uplinks = ["eth1", "enp3s0f1"]
uso_uplinks = ["eth1"]
[channel]
dscp = 46
[roce]
dscp = 0
[metrics]
listen = "192.0.2.1:9719"
queue_pairs = 3
[log]
level = "debug"
format = "json"
[worker]
spin = "never"
spin_for_us = 5
turn_us = 60
cpu = 7
[doorbells]
watch_ceiling_us = 8
late_event_after_us = 9
late_event_budget = 10
late_event_refill_per_second = 11
[debug]
stall_every_ms = 12
stall_for_us = 13
stall_seed = 14
)",
                                   "test.toml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->state_dir, "/a");
  EXPECT_EQ(config->host.name, "h1");
  EXPECT_EQ(config->metrics.listen, "192.0.2.1:9719");
  EXPECT_EQ(config->metrics.queue_pairs, 3u);
  EXPECT_THAT(config->network.uplinks, testing::ElementsAre("eth1", "enp3s0f1"));
  EXPECT_THAT(config->network.uso_uplinks, testing::ElementsAre("eth1"));
  EXPECT_EQ(config->channel.dscp, 46u);
  EXPECT_EQ(config->roce.dscp, 0u);
  EXPECT_EQ(config->api.socket, "/b/api");
  EXPECT_EQ(config->api.mode, 0600u);
  EXPECT_EQ(config->api.group, "ops");
  EXPECT_EQ(config->api.threads, 2u);
  EXPECT_EQ(config->vfio_user.socket_dir, "/c");
  EXPECT_EQ(config->vfio_user.mode, 0666u);
  EXPECT_EQ(config->vfio_user.group, "kvm");
  EXPECT_EQ(config->vfio_user.max_vms, 3u);
  EXPECT_EQ(config->vfio_user.max_guest_memory, std::uint64_t{4} << 30);
  EXPECT_EQ(config->log.level, "debug");
  EXPECT_EQ(config->log.format, LogFormat::kJson);
  EXPECT_EQ(config->worker.spin, Spin::kNever);
  EXPECT_EQ(config->worker.spin_for, std::chrono::microseconds(5));
  EXPECT_EQ(config->worker.turn, std::chrono::microseconds(60));
  EXPECT_EQ(config->worker.cpu, 7u);
  EXPECT_EQ(config->doorbells.watch_ceiling, std::chrono::microseconds(8));
  EXPECT_EQ(config->doorbells.late_event_after, std::chrono::microseconds(9));
  EXPECT_EQ(config->doorbells.late_event_budget, 10u);
  EXPECT_EQ(config->doorbells.late_event_refill_per_second, 11u);
  EXPECT_EQ(config->debug.stall_every, std::chrono::milliseconds(12));
  EXPECT_EQ(config->debug.stall_for, std::chrono::microseconds(13));
  EXPECT_EQ(config->debug.stall_seed, 14u);
}

struct Broken {
  const char* text;
  const char* place;
  const char* reason;
};
class BrokenConfig : public testing::TestWithParam<Broken> {};

TEST_P(BrokenConfig, SaysFileLineAndReason) {
  const auto config = parse_config(GetParam().text, "test.toml");
  ASSERT_FALSE(config) << GetParam().text;
  EXPECT_EQ(config.error().code, Errc::kInvalidArgument);
  EXPECT_THAT(config.error().message, StartsWith(GetParam().place));
  EXPECT_THAT(config.error().message, HasSubstr(GetParam().reason));
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenConfig,
    testing::Values(
        Broken{"[api\n", "test.toml:1: ", ""},
        Broken{"[api]\nsocket = /run\n", "test.toml:2: ", ""},
        Broken{"[api]\nmode = \"0660\"\nmode = \"0660\"\n", "test.toml:3: ", ""},
        Broken{"\n\n[api]\nsokcet = \"/a\"\n",
               "test.toml:4: ", "api.sokcet is not a known setting"},
        Broken{"[apy]\n", "test.toml:1: ", "apy is not a known setting"},
        Broken{"api = 1\n", "test.toml:1: ", "api must be a table"},
        Broken{"[api]\nsocket = 1\n", "test.toml:2: ", "api.socket must be a quoted string"},
        Broken{"[api]\nsocket = \"api.sock\"\n", "test.toml:2: ", "absolute path"},
        Broken{"[api]\nmode = \"0999\"\n", "test.toml:2: ", "octal"},
        Broken{"[api]\nmode = \"1777\"\n", "test.toml:2: ", "octal"},
        Broken{"[api]\nmode = \"\"\n", "test.toml:2: ", "octal"},
        Broken{"[api]\nmode = 432\n", "test.toml:2: ", "quoted string"},
        Broken{"[api]\nthreads = 0\n", "test.toml:2: ", "but must be 1 to 64"},
        Broken{"[api]\nthreads = -1\n", "test.toml:2: ", "but must be 1 to 64"},
        Broken{"[api]\nthreads = 65\n", "test.toml:2: ", "but must be 1 to 64"},
        Broken{"[api]\nthreads = 1.5\n", "test.toml:2: ", "whole number"},
        Broken{"[log]\nlevel = \"loud\"\n", "test.toml:2: ", "debug, info, warn, error"},
        Broken{"[host]\nname = \"H 1\"\n", "test.toml:2: ", "host.name is invalid"},
        Broken{"[network]\nuplinks = \"eth1\"\n", "test.toml:2: ", "must be an array"},
        Broken{"[channel]\ndscp = 64\n", "test.toml:2: ", "but must be 0 to 63"},
        Broken{"[roce]\ndscp = 104\n", "test.toml:2: ", "but must be 0 to 63"},
        Broken{"[metrics]\nlisten = \"9719\"\n", "test.toml:2: ", "127.0.0.1:9719"},
        Broken{"[metrics]\nlisten = \"localhost:9719\"\n", "test.toml:2: ", "expected an address"},
        Broken{"[network]\nuplinks = [1]\n", "test.toml:2: ", "must be an array"},
        Broken{"[network]\nuplinks = [\n\"eth1\",\n\"a/b\"]\n", "test.toml:4: ", "a/b"},
        Broken{"[network]\nuplinks = [\"eth1\"]\nuso_uplinks = [\"eth2\"]\n",
               "test.toml:3: ", "network.uso_uplinks names eth2, which uplinks does not name"},
        Broken{"[worker]\nspin = true\n", "test.toml:2: ", "quoted string"},
        Broken{"[worker]\ncpu = 1024\n", "test.toml:2: ", "0 to 1023"},
        Broken{"[debug]\nstall_for_us = 1000001\n", "test.toml:2: ", "0 to 1000000"}));

TEST(ConfigFile, NamesAFileThatIsMissing) {
  const TempDir dir;
  const auto config = load_config(dir / "none.toml");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, Errc::kIo);
  EXPECT_THAT(config.error().message, HasSubstr("none.toml: No such file"));
}

TEST(ConfigFile, RefusesADirectory) {
  const TempDir dir;
  EXPECT_FALSE(load_config(dir.path()));
}

TEST(ConfigFile, NamesTheFileThatIsBroken) {
  const TempDir dir;
  std::ofstream(dir / "broken.toml") << "[log]\n\nlevel = 3\n";
  EXPECT_THAT(load_config(dir / "broken.toml").error().message,
              HasSubstr("broken.toml:3: log.level"));
}

// The file that is installed says what the program does without it.
TEST(ConfigFile, InstalledFileHoldsTheDefaults) {
  const auto installed = load_config(PARAVANE_INSTALLED_CONFIG);
  ASSERT_TRUE(installed) << installed.error().message;
  const Config built_in;
  EXPECT_EQ(installed->state_dir, built_in.state_dir);
  EXPECT_EQ(installed->api.socket, built_in.api.socket);
  EXPECT_EQ(installed->api.mode, built_in.api.mode);
  EXPECT_EQ(installed->api.threads, built_in.api.threads);
  EXPECT_EQ(installed->vfio_user.socket_dir, built_in.vfio_user.socket_dir);
  EXPECT_EQ(installed->vfio_user.group, "kvm");  // of paravane.sysusers
  EXPECT_EQ(installed->vfio_user.max_vms, built_in.vfio_user.max_vms);
  EXPECT_EQ(installed->vfio_user.max_guest_memory, built_in.vfio_user.max_guest_memory);
  EXPECT_EQ(installed->infiniband.umad_socket, built_in.infiniband.umad_socket);
  EXPECT_EQ(installed->infiniband.mode, built_in.infiniband.mode);
  EXPECT_EQ(installed->infiniband.group, "paravane-sm");  // of paravane.sysusers
  EXPECT_EQ(installed->host.name, built_in.host.name);
  EXPECT_EQ(installed->network.uplinks, built_in.network.uplinks);
  EXPECT_EQ(installed->network.uso_uplinks, built_in.network.uso_uplinks);
  EXPECT_EQ(installed->worker.spin_for, built_in.worker.spin_for);
  EXPECT_EQ(installed->worker.turn, built_in.worker.turn);
  EXPECT_EQ(installed->worker.cpu, built_in.worker.cpu);
  EXPECT_EQ(installed->debug.stall_every, built_in.debug.stall_every);
  EXPECT_EQ(installed->doorbells.watch_ceiling, built_in.doorbells.watch_ceiling);
  EXPECT_EQ(installed->doorbells.late_event_after, built_in.doorbells.late_event_after);
  EXPECT_EQ(installed->doorbells.late_event_budget, built_in.doorbells.late_event_budget);
}

}  // namespace
}  // namespace paravane::settings
