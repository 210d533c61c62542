// The functions that add the commands of `paravane` to the command line parser. Each function adds
// one command, or a group of commands, below a given node of the parser. When the user calls a
// command, the parser stores the function that executes it in `run`, and the program calls that
// function after parsing.

#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/context.h"

namespace paravane::cli {

// The function that executes the parsed command. The command's callback sets it.
using Run = std::function<ExitStatus(const Context&)>;

void add_vm_commands(CLI::App& parent, Run& run);
void add_vm_change_commands(CLI::App& vm, Run& run);    // set, adapter ...
void add_vm_argument_commands(CLI::App& vm, Run& run);  // qemu-args, libvirt-xml
void add_vm_hot_add_command(CLI::App& vm, Run& run);    // hot-add-commands
void add_vm_check_command(CLI::App& vm, Run& run);      // check
void add_vm_start_commands(CLI::App& vm, Run& run);     // start, run
void add_vm_power_commands(CLI::App& vm, Run& run);     // stop, reset, console
void add_vds_commands(CLI::App& parent, Run& run);
void add_portgroup_commands(CLI::App& parent, Run& run);
void add_impair_commands(CLI::App& parent, Run& run);
void add_infiniband_commands(CLI::App& parent, Run& run);
void add_ib_manager_commands(CLI::App& infiniband, Run& run);
void add_ib_module_commands(CLI::App& infiniband, Run& run);  // module ..., status
void add_vmhba_commands(CLI::App& infiniband, Run& run);      // vmhba ..., target ...
void add_sniff_command(CLI::App& parent, Run& run);
void add_status_command(CLI::App& parent, Run& run);
void add_stats_command(CLI::App& parent, Run& run);
void add_metrics_command(CLI::App& parent, Run& run);
void add_path_commands(CLI::App& parent, Run& run);
void add_events_command(CLI::App& parent, Run& run);
void add_cluster_commands(CLI::App& parent, Run& run);
void add_cluster_backup_commands(CLI::App& cluster, Run& run);  // backup, restore, promote
// The following commands belong to the namespaces of esxcli (cli/esxcli_tree.h).
void add_nic_commands(CLI::App& root, Run& run);
void add_esxcfg_nics(CLI::App& root, Run& run);  // the whole of that program
void add_rdma_device_commands(CLI::App& root, Run& run);
void add_dvs_commands(CLI::App& root, Run& run);
void add_failover_commands(CLI::App& root, Run& run);
void add_storage_commands(CLI::App& root, Run& run);
void add_vmkernel_commands(CLI::App& root, Run& run);
void add_esxcfg_vmknic(CLI::App& root, Run& run);  // the whole of that program
// Each is the whole of a program of the InfiniBand guide.
void add_esxcfg_module(CLI::App& root, Run& run);  // and vicfg-module
void add_vmkload_mod(CLI::App& root, Run& run);
void add_esxcfg_advcfg(CLI::App& root, Run& run);
void add_mgmt_mlx(CLI::App& root, Run& run);
void add_connectx_port_config(CLI::App& root, Run& run);
void add_esxcfg_mpath(CLI::App& root, Run& run);
void add_esxcfg_rescan(CLI::App& root, Run& run);
void add_esxcfg_scsidevs(CLI::App& root, Run& run);
// `ibstat -vmhba`. All other words of ibstat are those of the system's program of that name.
void add_ibstat(CLI::App& root, Run& run);
bool is_ibstat_vmhba(std::span<const std::string> words);
// Without that word, which is no option of the parser.
std::vector<std::string> without_ibstat_vmhba(std::vector<std::string> words);
// Returns only if the system's ibstat could not be run.
ExitStatus run_other_ibstat(std::vector<std::string> words, const Context& context);
void add_system_commands(CLI::App& root, Run& run);
void add_daemon_commands(CLI::App& parent, Run& run);
void add_daemon_upgrade_command(CLI::App& daemon, Run& run);  // upgrade
void add_help_commands(CLI::App& root, Run& run);             // help, version
// The command reads the tree of commands from `root` when it runs, so the completion script
// contains every command.
void add_completion_command(CLI::App& root, Run& run);

}  // namespace paravane::cli
