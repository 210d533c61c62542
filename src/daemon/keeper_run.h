// Runs the keeper (keeper/keeper.h) with all that it needs of the rooms above it: the log, the
// holder's process, what makes switches and what reads the hardware.
//
// The first thread of a process that has no other yet.

#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "base/result.h"
#include "keeper/holder_process.h"
#include "keeper/keeper_exec.h"
#include "privsep/process_link.h"
#include "settings/config.h"
#include "settings/engine_account.h"

namespace paravane::daemon {

// What the daemon is started with.
struct Start {
  settings::Config config;
  std::string config_file;  // empty: none
  std::string config_text;
  std::filesystem::path program;  // empty: unknown
  settings::EngineAccount account;
};

// What all processes of the daemon have. The standard streams are open afterwards.
void prepare_process();

// A holder whose keeper is this process. Errors: as HolderProcess::start().
Result<keeper::HolderProcess> start_holder(const Start& start);

// Returns the exit status of the daemon.
int run_keeper(const Start& start, pid_t engine, privsep::ProcessLink link,
               keeper::HolderProcess holder);

// The same in the place of a keeper that was replaced by this program.
int run_next_keeper(const keeper::KeeperWords& words);

}  // namespace paravane::daemon
