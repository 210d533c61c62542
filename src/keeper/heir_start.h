// start_heir() executes the program of the daemon, as it is on disk now, as an heir: a new engine
// that waits for what the running one leaves (privsep/heir_facts.h has its descriptors). The file
// stays open, so that the keeper can become the same program (keeper/keeper_exec.h), whatever has
// the file's name by then.
//
// One thread. Does not wait for the program.

#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "keeper/succession.h"
#include "privsep/process_link.h"

namespace paravane::keeper {

// The path of the program that this process runs. Call it early: once a package has replaced the
// file, the kernel names it no more. Empty: unknown.
std::filesystem::path own_program();

struct HeirStart {
  std::filesystem::path program;
  int file = -1;               // of the program that is executed; -1: that at the path
  std::string config_file;     // as the heir shows it; empty: none
  std::string config_text;     // what the keeper has read from it
  UniqueFd holder_line;        // none: nothing is kept of this engine
  std::optional<Crash> crash;  // of the engine before it; none: it is replaced
};

struct StartedHeir {
  pid_t pid;
  privsep::ProcessLink link;  // the keeper's side
  UniqueFd estate;            // the engine's side of the estate line
  UniqueFd program;           // the file that it executes
};

// The program that this process runs, whatever is at its path now. Errors: kIo.
Result<UniqueFd> open_own_program();

// A program that cannot be executed says so by its link (kCannot), and ends. Errors: kIo.
Result<StartedHeir> start_heir(const HeirStart& start);

// How a process has ended, for people: "exited with status 1", "was killed by signal 9 (KILL)".
std::string print_end(int wait_status);

}  // namespace paravane::keeper
